//! Names of files, in `file:` URLs and of users.

use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use std::fmt::Write as _;

/// A URL may be so long, bytes.
const URL_MAX: usize = 1024;

/// A name in a directory may be so long, bytes.
const NAME_MAX: usize = 255;

/// The directory of a user, which begins as no name in a URL or of another kind does.
pub(super) fn home_of(user: &str) -> Result<String, Error> {
    let mut name = String::from("~");
    for byte in user.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'@' => {
                name.push(char::from(byte))
            }
            // A String takes everything.
            other => drop(write!(name, "%{other:02X}")),
        }
    }
    if name.len() <= NAME_MAX {
        return Ok(name);
    }
    let message = "the name of the user is too long for a directory: files of URLs cannot be used";
    Err(Error::protocol(ErrorTag::OperationNotSupported, message))
}

/// The steps of the path of a `file:` URL (RFC 8089), whose root is our directory.
pub(super) fn names_in(url: &str) -> Result<Vec<String>, Error> {
    if url.len() > URL_MAX {
        let message = format!("the URL has {} bytes; at most {URL_MAX} are accepted", url.len());
        return Err(about_url(Error::protocol(ErrorTag::InvalidValue, message)));
    }
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(invalid(url, "only URLs of the scheme 'file' are supported, such as file:///backup.xml"));
    }
    let path = match rest.strip_prefix("//") {
        Some(authority) => authority.strip_prefix("localhost").unwrap_or(authority),
        None => rest,
    };
    let path = path
        .strip_prefix('/')
        .ok_or_else(|| invalid(url, "it names another host or no absolute path: write file:///NAME"))?;
    path.split('/').map(|step| name_of(step).map_err(|why| invalid(url, why))).collect()
}

fn name_of(step: &str) -> Result<String, &'static str> {
    if step.contains(['?', '#']) {
        return Err("'?' and '#' are written %3F and %23 in a name");
    }
    let name =
        decoded(step).ok_or("a percent sign is followed by two hexadecimal digits, and names are UTF-8")?;
    if name.is_empty() || name.starts_with('.') {
        return Err("no name in it may be empty or begin with a full stop");
    }
    if name.len() > NAME_MAX || name.chars().any(|c| c == '/' || c.is_control()) {
        return Err("a name has 255 bytes at most, no slash and no control character");
    }
    Ok(name)
}

fn decoded(step: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let text = std::str::from_utf8(&digits).ok().filter(|text| !text.starts_with('+'))?;
                u8::from_str_radix(text, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn about_url(error: Error) -> Error {
    error.with(ErrorInfo::BadElement("url".to_owned()))
}

pub(super) fn invalid(url: &str, why: &str) -> Error {
    about_url(Error::protocol(ErrorTag::InvalidValue, format!("'{url}': {why}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed set-up is a failed test

    use super::*;

    #[test]
    fn a_url_names_steps_below_the_directory() {
        assert_eq!(names_in("file:///a.xml").unwrap(), ["a.xml"]);
        assert_eq!(names_in("FILE://localhost/a/b%20c%C3%A9").unwrap(), ["a", "b c\u{e9}"]);
        assert_eq!(names_in("file:/a").unwrap(), ["a"]);
        let long = format!("file:///{}", "x".repeat(256));
        for bad in [
            "",
            "a.xml",
            "http://h/a",
            "file:a",
            "file://host/a",
            "file:///",
            "file:///a/",
            "file:///a//b",
            "file:///../a",
            "file:///a/../../b",
            "file:///%2e%2e/a",
            "file:///.",
            "file:///.hidden",
            "file:///a%2Fb",
            "file:///a%00",
            "file:///a%",
            "file:///a%+1",
            "file:///%ff",
            "file:///a?b",
            "file:///a#b",
            &long,
            &"file:///a/".repeat(200),
        ] {
            assert_eq!(names_in(bad).unwrap_err().tag, ErrorTag::InvalidValue, "{bad}");
        }
    }

    #[test]
    fn each_user_has_a_directory_of_its_own_and_none_leads_elsewhere() {
        assert_eq!(home_of("ada").unwrap(), "~ada");
        assert_eq!(home_of("../etc/x y").unwrap(), "~..%2Fetc%2Fx%20y");
        assert_eq!(home_of("a%2Fb").unwrap(), "~a%252Fb");
        assert_eq!(home_of("\u{e9}").unwrap(), "~%C3%A9");
        assert_eq!(home_of(&"x".repeat(255)).unwrap_err().tag, ErrorTag::OperationNotSupported);
    }
}
