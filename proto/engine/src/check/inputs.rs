//! Checks the parameters and tags of a plan.

use loadpilot_events::limits;
use loadpilot_events::plan::{Plan, Text};

use super::checker::Checker;

pub(super) fn inputs(checker: &mut Checker<'_>, plan: &Plan) {
    let count = plan.parameters.len();
    let few = count <= limits::PARAMETERS_MAX;
    checker.require(few, "parameters", "must be at most 200", count);
    for (name, value) in &plan.parameters {
        let field = format!("parameters.{name}");
        checker.name(&field, name);
        match value {
            Text::Secret { secret } => checker.name(&format!("{field}.secret"), secret),
            Text::Literal(text) => {
                let fits = text.len() <= limits::PARAMETER_BYTES_MAX;
                checker.require(fits, field, "must be at most 16 KiB", text.len());
            }
        }
    }
    let count = plan.tags.len();
    checker.require(
        count <= limits::TAGS_MAX,
        "tags",
        "must be at most 20",
        count,
    );
    for (name, value) in &plan.tags {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let sound = name.bytes().all(is_plain) && !name.is_empty();
        let rule = "must have a name of letters, digits and _-.";
        checker.require(sound, "tags", rule, name);
        checker.name("tags", name);
        checker.name(&format!("tags.{name}"), value);
    }
}
