//! Hash routes: any static host and any sub-path serve them.

/// A page of the lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    Home,
    Trace,
    /// Four data planes; a whole state in a link: the part after `#/planes/`.
    Planes(Option<String>),
    /// What is exact, simplified, not emulated.
    Fidelity,
    Lesson(String),
    /// A whole run in a link: the part after `#/s/`.
    Shared(String),
    /// A hash that names no page.
    Unknown(String),
}

impl Route {
    /// Reads `location.hash`.
    pub fn read(hash: &str) -> Self {
        let path = hash.strip_prefix('#').unwrap_or(hash);
        match path.strip_prefix('/').unwrap_or(path).split_once('/') {
            None => match path.trim_matches('/') {
                "" => Self::Home,
                "trace" => Self::Trace,
                "fidelity" => Self::Fidelity,
                "planes" => Self::Planes(None),
                _ => Self::Unknown(hash.to_owned()),
            },
            Some(("trace", "")) => Self::Trace,
            Some(("planes", state)) => Self::Planes((!state.is_empty()).then(|| state.to_owned())),
            Some(("lesson", id)) if !id.is_empty() => Self::Lesson(id.trim_end_matches('/').to_owned()),
            Some(("s", state)) => Self::Shared(state.to_owned()),
            Some(_) => Self::Unknown(hash.to_owned()),
        }
    }

    /// The hash to link to.
    pub fn hash(&self) -> String {
        match self {
            Self::Home => "#/".to_owned(),
            Self::Trace => "#/trace".to_owned(),
            Self::Fidelity => "#/fidelity".to_owned(),
            Self::Planes(None) => "#/planes".to_owned(),
            Self::Planes(Some(state)) => format!("#/planes/{state}"),
            Self::Lesson(id) => format!("#/lesson/{id}"),
            Self::Shared(state) => format!("#/s/{state}"),
            Self::Unknown(hash) => hash.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Route;

    #[test]
    fn hashes_name_pages() {
        let cases = [
            ("", Route::Home),
            ("#", Route::Home),
            ("#/", Route::Home),
            ("#/trace", Route::Trace),
            ("#/trace/", Route::Trace),
            ("#/fidelity", Route::Fidelity),
            ("#/planes", Route::Planes(None)),
            ("#/planes/", Route::Planes(None)),
            ("#/planes/v1.abc", Route::Planes(Some("v1.abc".to_owned()))),
            ("#/lesson/no-such-service", Route::Lesson("no-such-service".to_owned())),
            ("#/lesson/a/b", Route::Lesson("a/b".to_owned())),
            ("#/lesson/", Route::Unknown("#/lesson/".to_owned())),
            ("#/s/v1.abc", Route::Shared("v1.abc".to_owned())),
            ("#/s/", Route::Shared(String::new())),
            ("#/elsewhere", Route::Unknown("#/elsewhere".to_owned())),
        ];
        for (hash, route) in cases {
            assert_eq!(Route::read(hash), route, "{hash}");
        }
    }

    #[test]
    fn pages_survive_their_hash() {
        for route in [
            Route::Home,
            Route::Trace,
            Route::Planes(None),
            Route::Planes(Some("v1.x".to_owned())),
            Route::Lesson("x".to_owned()),
            Route::Shared("v1.x".to_owned()),
        ] {
            assert_eq!(Route::read(&route.hash()), route);
        }
    }
}
