//! The code of user types: the parts that each type has for itself; the tasks of all types are one
//! list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::code::{Code, Line, Literal, Routine};

/// What the code of a user type has apart from its tasks: fields with the meaning of those of
/// [`Code`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeCode {
    /// File that was compiled.
    pub file: String,
    /// Attributes of the class, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, Literal>,
    /// Preparation of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_start: Option<Routine>,
    /// Clean-up of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_stop: Option<Routine>,
    /// Source lines that errors show, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
}

impl Code {
    /// The code of each user type, as that of a scenario alone, with the tasks of all types; one
    /// without a mix.
    #[must_use]
    pub fn by_type(&self) -> Vec<Self> {
        let of_type = |own: &TypeCode| Self {
            file: own.file.clone(),
            constants: own.constants.clone(),
            on_start: own.on_start.clone(),
            on_stop: own.on_stop.clone(),
            lines: own.lines.clone(),
            types: Vec::new(),
            ..self.clone()
        };
        match self.types.as_slice() {
            [] => vec![self.clone()],
            types => types.iter().map(of_type).collect(),
        }
    }
}
