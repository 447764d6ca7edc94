//! Operations as XML: what a client writes, and what [`crate::parse_rpc`] reads back.

use crate::names::{BASE, EXEC, MONITORING, PRIVATE_CANDIDATE, WITH_DEFAULTS};
use crate::reply::escape_text;
use crate::retrieval::{Filter, WithDefaults};
use crate::rpc::{
    CommitOptions, Confirmed, Content, DefaultOperation, ErrorOption, Operation, Source, Target, TestOption,
};

impl Operation {
    /// The operation element.
    pub fn to_xml(&self) -> String {
        match self {
            Operation::Get { filter, with_defaults } => {
                base("get", &format!("{}{}", filter_xml(filter), with_defaults_xml(*with_defaults)))
            }
            Operation::GetConfig { source, filter, with_defaults } => {
                let (filter, defaults) = (filter_xml(filter), with_defaults_xml(*with_defaults));
                base("get-config", &format!("<source><{}/></source>{filter}{defaults}", source.name()))
            }
            Operation::GetData(get) => get.to_xml(),
            Operation::EditData(edit) => edit.to_xml(),
            Operation::Compare(compare) => compare.to_xml(),
            Operation::EditConfig { target, default_operation, test_option, error_option, config } => {
                let operation = default_operation_xml(*default_operation);
                let options = [operation, test_option_xml(*test_option), error_option_xml(*error_option)];
                let (target, options) = (target.name(), options.concat());
                base("edit-config", &format!("<target><{target}/></target>{options}{}", content_xml(config)))
            }
            Operation::CopyConfig { target, source, with_defaults } => {
                let (source, defaults) = (source_xml(source), with_defaults_xml(*with_defaults));
                base("copy-config", &format!("{}{source}{defaults}", target_xml(target)))
            }
            Operation::DeleteConfig { target } => base("delete-config", &target_xml(target)),
            Operation::Lock { target } => base("lock", &format!("<target><{}/></target>", target.name())),
            Operation::Unlock { target } => base("unlock", &format!("<target><{}/></target>", target.name())),
            Operation::Commit(options) => base("commit", &commit_xml(options)),
            Operation::CancelCommit { persist_id } => {
                base("cancel-commit", &element("persist-id", persist_id.as_deref()))
            }
            Operation::DiscardChanges => base("discard-changes", ""),
            Operation::Update { resolution } => {
                let mode = resolution.name();
                format!(
                    "<update xmlns=\"{PRIVATE_CANDIDATE}\"><resolution-mode>{mode}</resolution-mode></update>"
                )
            }
            Operation::Validate { source } => base("validate", &source_xml(source)),
            Operation::CloseSession => base("close-session", ""),
            Operation::KillSession { session_id } => {
                base("kill-session", &format!("<session-id>{session_id}</session-id>"))
            }
            Operation::GetSchema { identifier, version, format } => {
                get_schema_xml(identifier, version.as_deref(), format.as_deref())
            }
            Operation::CreateSubscription(created) => created.to_xml(),
            Operation::Other { xml, .. } => xml.as_str().to_owned(),
        }
    }
}

fn base(name: &str, content: &str) -> String {
    format!("<{name} xmlns=\"{BASE}\">{content}</{name}>")
}

fn filter_xml(filter: &Option<Filter>) -> String {
    filter.as_ref().map(Filter::to_xml).unwrap_or_default()
}

fn with_defaults_xml(mode: Option<WithDefaults>) -> String {
    mode.map(|mode| mode.to_xml(WITH_DEFAULTS)).unwrap_or_default()
}

fn source_xml(source: &Source) -> String {
    match source {
        Source::Datastore(datastore) => format!("<source><{}/></source>", datastore.name()),
        Source::Config(config) => format!("<source>{}</source>", content_xml(config)),
    }
}

fn target_xml(target: &Target) -> String {
    match target {
        Target::Datastore(datastore) => format!("<target><{}/></target>", datastore.name()),
        Target::Url(url) => format!("<target><url>{}</url></target>", escape_text(url)),
    }
}

pub(crate) fn content_xml(content: &Content) -> String {
    match content {
        Content::Inline(config) => config.as_str().to_owned(),
        Content::Url(url) => format!("<url>{}</url>", escape_text(url)),
    }
}

fn element(name: &str, value: Option<&str>) -> String {
    value.map(|value| format!("<{name}>{}</{name}>", escape_text(value))).unwrap_or_default()
}

fn commit_xml(options: &CommitOptions) -> String {
    let confirmed = options.confirmed.as_ref().map_or_else(String::new, |confirmed| {
        let timeout = confirmed.timeout_s;
        let timeout = if timeout == Confirmed::DEFAULT_TIMEOUT_S {
            String::new()
        } else {
            element("confirm-timeout", Some(&timeout.to_string()))
        };
        format!("<confirmed/>{timeout}{}", element("persist", confirmed.persist.as_deref()))
    });
    let comment = options.comment.as_deref().map(escape_text);
    let comment = comment.map(|text| format!("<comment xmlns=\"{EXEC}\">{text}</comment>"));
    confirmed + &element("persist-id", options.persist_id.as_deref()) + &comment.unwrap_or_default()
}

fn default_operation_xml(value: DefaultOperation) -> &'static str {
    match value {
        DefaultOperation::Merge => "",
        DefaultOperation::Replace => "<default-operation>replace</default-operation>",
        DefaultOperation::None => "<default-operation>none</default-operation>",
    }
}

fn test_option_xml(value: TestOption) -> &'static str {
    match value {
        TestOption::TestThenSet => "",
        TestOption::Set => "<test-option>set</test-option>",
        TestOption::TestOnly => "<test-option>test-only</test-option>",
    }
}

fn error_option_xml(value: ErrorOption) -> &'static str {
    match value {
        ErrorOption::StopOnError => "",
        ErrorOption::ContinueOnError => "<error-option>continue-on-error</error-option>",
        ErrorOption::RollbackOnError => "<error-option>rollback-on-error</error-option>",
    }
}

fn get_schema_xml(identifier: &str, version: Option<&str>, format: Option<&str>) -> String {
    format!(
        "<get-schema xmlns=\"{MONITORING}\">{}{}{}</get-schema>",
        element("identifier", Some(identifier)),
        element("version", version),
        element("format", format)
    )
}
