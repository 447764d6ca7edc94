//! What a request for state asks for.

/// The paths of a request.
#[derive(Debug)]
pub(super) struct Filter(Vec<Vec<Step>>);

#[derive(Debug)]
struct Step {
    name: String,
    keys: Vec<(String, String)>,
}

impl Filter {
    pub(super) fn new(paths: &[String]) -> Result<Self, String> {
        paths
            .iter()
            .map(|path| steps(path).ok_or_else(|| format!("malformed path {path}")))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether something at or below a node of ours is asked for, or something that holds it.
    pub(super) fn wants(&self, node: &[&str]) -> bool {
        let full = full(node);
        self.0.is_empty() || self.0.iter().any(|path| touches(path, &full))
    }

    /// The entries of a list of ours that are asked for, by the values of its keys.
    pub(super) fn entries(&self, list: &[&str], keys: &[&str]) -> Entries {
        let whole = |parts: Vec<Keys>| parts.into_iter().map(|keys| keys.into_iter().collect()).collect();
        self.parts(list, keys).and_then(whole).map_or(Entries::All, Entries::Named)
    }

    /// The parts of a list of ours that are asked for, each by the keys that are given of it; nothing for all of it.
    pub(super) fn parts(&self, list: &[&str], keys: &[&str]) -> Option<Vec<Keys>> {
        let full = full(list);
        let touching = self.0.iter().filter(|path| touches(path, &full));
        let parts = touching.map(|path| {
            let step = path.get(full.len().checked_sub(1)?)?;
            let value = |key: &&str| step.keys.iter().find(|(name, _)| name == key);
            let given: Keys = keys.iter().map(|key| value(key).map(|(_, value)| value.clone())).collect();
            given.iter().any(Option::is_some).then_some(given)
        });
        parts.collect::<Option<Vec<_>>>().filter(|_| !self.0.is_empty())
    }
}

/// The values of a list's keys, in their order, as far as they are given.
pub(super) type Keys = Vec<Option<String>>;

/// Entries of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entries {
    All,
    /// Each by the values of its keys, in their order.
    Named(Vec<Vec<String>>),
}

impl Entries {
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Named(named) => named.iter().any(|known| known == keys),
        }
    }
}

/// The names of the way to a node of ours.
fn full<'a>(node: &[&'a str]) -> Vec<&'a str> {
    ["routing", "cats"].into_iter().chain(node.iter().map(|name| local(name))).collect()
}

/// Whether a path leads to, above or below a node.
fn touches(path: &[Step], full: &[&str]) -> bool {
    path.iter().zip(full).all(|(step, name)| step.name == *name)
}

/// Splits an instance path; module names are left out.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('/')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(['/', '[']).unwrap_or(rest.len());
        let mut step = Step { name: local(rest.get(..end)?).to_owned(), keys: Vec::new() };
        rest = rest.get(end..)?;
        while let Some(predicate) = rest.strip_prefix('[') {
            let (name, value) = predicate.split_once('=')?;
            let (value, after) = literal(value)?;
            step.keys.push((local(name.trim()).to_owned(), value));
            rest = after.strip_prefix(']')?;
        }
        steps.push(step);
        rest = match rest.strip_prefix('/') {
            Some("") => return None,
            Some(after) => after,
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(steps)
}

/// A quoted value and what follows it; a value with quotes of both kinds is a `concat` of such.
fn literal(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix("concat(") else {
        return quoted(text).map(|(value, after)| (value.to_owned(), after));
    };
    let mut value = String::new();
    loop {
        let (part, after) = quoted(rest)?;
        value.push_str(part);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some((value, after.strip_prefix(')')?)),
        }
    }
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text.get(1..)?.split_once(quote)
}

fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_what_is_below_and_what_is_above_its_paths() {
        let filter = |paths: &[&str]| Filter::new(&paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
        let decision = ["path-selector", "decisions", "decision"];
        assert!(filter(&[]).unwrap().wants(&decision));
        let above = filter(&["/ietf-routing:routing/ietf-cats:cats/cats-cps:path-selector"]).unwrap();
        assert!(above.wants(&decision));
        assert!(!above.wants(&["traffic-classifiers", "traffic-classifier"]));
        let path = "/ietf-routing:routing/ietf-cats:cats/cats-cps:path-selector/decisions/\
                    decision[transaction='a/[b]']/reason";
        let below = filter(&[path]).unwrap();
        assert!(below.wants(&decision));
        assert_eq!(
            below.entries(&decision, &["transaction"]),
            Entries::Named(vec![vec!["a/[b]".to_owned()]])
        );
        for all in [filter(&[]), Ok(above), filter(&[path, &path[..path.find('[').unwrap()]])] {
            assert_eq!(all.unwrap().entries(&decision, &["transaction"]), Entries::All);
        }
        let elsewhere = "/ietf-routing:routing/ietf-cats:cats/cats-cps:path-selector/flows";
        let two = filter(&[path, elsewhere, &path.replace("a/", "c/")]).unwrap();
        let found = two.entries(&decision, &["transaction"]);
        assert!(found.has(&["c/[b]"]) && found.has(&["a/[b]"]) && !found.has(&["b"]));
        let two_keys = "/ietf-routing:routing/ietf-cats:cats/x:agent/instance[csci-id='2'][cs-id=\"1\"]";
        let one = filter(&[two_keys]).unwrap().entries(&["x:agent", "instance"], &["cs-id", "csci-id"]);
        assert_eq!(one, Entries::Named(vec![vec!["1".to_owned(), "2".to_owned()]]));
        let half = filter(&[&two_keys[..two_keys.rfind('[').unwrap()]]).unwrap();
        assert_eq!(half.entries(&["x:agent", "instance"], &["cs-id", "csci-id"]), Entries::All);
        let part = half.parts(&["x:agent", "instance"], &["cs-id", "csci-id"]);
        assert_eq!(part, Some(vec![vec![None, Some("2".to_owned())]]));
        let both = path.replace("'a/[b]'", "concat('it',\"'\",'s \"x\"')");
        let both = filter(&[&both]).unwrap().entries(&decision, &["transaction"]);
        assert_eq!(both, Entries::Named(vec![vec!["it's \"x\"".to_owned()]]));
        assert!(filter(&["/a[b=concat('c','d']"]).is_err() && filter(&["/a[b=concat('c' 'd')]"]).is_err());
        assert!(filter(&["routing"]).is_err());
        assert!(filter(&["/a[b=c]"]).is_err());
    }
}
