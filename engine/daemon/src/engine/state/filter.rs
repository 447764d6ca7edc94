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
        let full: Vec<&str> =
            ["routing", "cats"].into_iter().chain(node.iter().map(|name| local(name))).collect();
        self.0.is_empty()
            || self.0.iter().any(|path| path.iter().zip(&full).all(|(step, name)| step.name == *name))
    }

    /// The keys that entries of a list are asked for by; nothing: all entries.
    pub(super) fn keys(&self, list: &str, key: &str) -> Option<Vec<String>> {
        if self.0.is_empty() {
            return None;
        }
        let of = |path: &Vec<Step>| {
            let step = path.iter().find(|step| step.name == list)?;
            step.keys.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
        };
        self.0.iter().map(of).collect()
    }
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
            let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
            let (value, after) = value.get(1..)?.split_once(quote)?;
            step.keys.push((local(name.trim()).to_owned(), value.to_owned()));
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
        assert_eq!(below.keys("decision", "transaction"), Some(vec!["a/[b]".to_owned()]));
        assert!(filter(&["routing"]).is_err());
        assert!(filter(&["/a[b=c]"]).is_err());
    }
}
