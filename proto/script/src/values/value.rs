//! Values of the Python types that JSON has, as immutable data.
//!
//! Compiled code changes no value, so values are shared. Nesting is limited, since comparison and
//! drop recurse.

use std::cell::OnceCell;
use std::rc::Rc;

use loadpilot_events::plan::code::Literal;

use super::exceptions::{Exception, type_error, unsupported};

/// Maximum depth of nested lists and dicts.
pub(crate) const DEPTH_MAX: u16 = 200;
/// Maximum bytes of a text; a list has at most a sixteenth as many items.
pub(crate) const LENGTH_MAX: usize = 64 << 20;
/// Number of entries above which a dict is searched by bisection.
const LINEAR_MAX: usize = 16;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// A whole number of at most 128 bits.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// Text, without lone surrogates.
    Text(Rc<str>),
    /// A list.
    List(Rc<List>),
    /// A dict whose keys are text.
    Dict(Rc<Dict>),
}

/// A list.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Vec<Value>,
    depth: u16,
}

/// A dict: entries in insertion order, unique keys.
#[derive(Debug)]
pub(crate) struct Dict {
    entries: Vec<(Rc<str>, Value)>,
    /// Indices of the entries sorted by key; made on the first lookup in a large dict.
    sorted: OnceCell<Vec<u32>>,
    depth: u16,
}

impl Value {
    /// Text as a value.
    #[must_use]
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// A list of these items.
    ///
    /// # Errors
    /// It nests too deep or is too long.
    pub(crate) fn list(items: Vec<Self>) -> Result<Self, Exception> {
        let depth = depth_of(items.iter())?;
        if items.len() > LENGTH_MAX / 16 {
            return Err(unsupported("a list longer than 4 million items"));
        }
        Ok(Self::List(Rc::new(List { items, depth })))
    }

    /// A dict of these entries; of equal keys the last value counts.
    ///
    /// # Errors
    /// It nests too deep.
    pub(crate) fn dict(given: Vec<(Rc<str>, Self)>) -> Result<Self, Exception> {
        let depth = depth_of(given.iter().map(|(_, value)| value))?;
        let mut dict = Dict {
            entries: given,
            sorted: OnceCell::new(),
            depth,
        };
        dict.deduplicate();
        Ok(Self::Dict(Rc::new(dict)))
    }

    /// Name of its type in Python.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::List(_) => "list",
            Self::Dict(_) => "dict",
        }
    }

    /// `bool(value)`
    #[must_use]
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Dict(dict) => !dict.entries.is_empty(),
        }
    }

    /// Whether both have the same type and the same value, so that they are encoded alike
    /// everywhere. `1`, `1.0` and `True` are equal but not the same.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Int(one), Self::Int(other)) => one == other,
            (Self::Float(one), Self::Float(other)) => one.to_bits() == other.to_bits(),
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::List(one), Self::List(other)) => {
                let pairs = || one.items.iter().zip(&other.items);
                Rc::ptr_eq(one, other)
                    || one.items.len() == other.items.len()
                        && pairs().all(|(one, other)| one.is_same(other))
            }
            (Self::Dict(one), Self::Dict(other)) => {
                let pairs = || one.entries.iter().zip(&other.entries);
                let is_same = |((key, one), (other_key, other)): (&(_, Self), &(_, Self))| {
                    key == other_key && one.is_same(other)
                };
                Rc::ptr_eq(one, other)
                    || one.entries.len() == other.entries.len() && pairs().all(is_same)
            }
            _ => false,
        }
    }

    /// `len(value)`
    ///
    /// # Errors
    /// Its type has no length.
    pub(crate) fn length(&self) -> Result<usize, Exception> {
        match self {
            Self::Text(text) => Ok(text.chars().count()),
            Self::List(list) => Ok(list.items.len()),
            Self::Dict(dict) => Ok(dict.entries.len()),
            other => {
                let kind = other.kind();
                Err(type_error(format!("object of type '{kind}' has no len()")))
            }
        }
    }

    fn depth(&self) -> u16 {
        match self {
            Self::List(list) => list.depth,
            Self::Dict(dict) => dict.depth,
            _ => 0,
        }
    }

    /// Value of a checked literal.
    ///
    /// # Errors
    /// It nests too deep, or a number in it is invalid.
    pub(crate) fn of(literal: &Literal) -> Result<Self, Exception> {
        Ok(match literal {
            Literal::None => Self::None,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(i128::from(*value)),
            Literal::Float(text) => {
                let parsed = text.parse();
                Self::Float(parsed.map_err(|_| unsupported("an invalid number"))?)
            }
            Literal::Text(text) => Self::text(text),
            Literal::List(items) => {
                Self::list(items.iter().map(Self::of).collect::<Result<_, _>>()?)?
            }
            Literal::Dict(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| Ok((key.as_str().into(), Self::of(value)?)));
                Self::dict(entries.collect::<Result<_, Exception>>()?)?
            }
        })
    }
}

/// Depth of a container of these.
fn depth_of<'a>(inner: impl Iterator<Item = &'a Value>) -> Result<u16, Exception> {
    let depth = 1 + inner.map(Value::depth).max().unwrap_or(0);
    match depth > DEPTH_MAX {
        true => Err(unsupported("lists and dicts nested deeper than 200")),
        false => Ok(depth),
    }
}

impl Dict {
    /// The entries in their order.
    #[must_use]
    pub(crate) fn entries(&self) -> &[(Rc<str>, Value)] {
        &self.entries
    }

    /// The value under a key.
    #[must_use]
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        if self.entries.len() <= LINEAR_MAX {
            let found = self.entries.iter().find(|(known, _)| **known == *key);
            return found.map(|(_, value)| value);
        }
        let sorted = self.sorted.get_or_init(|| self.by_key());
        let index = sorted.binary_search_by(|&index| (*self.entries[index as usize].0).cmp(key));
        let index = sorted[index.ok()?] as usize;
        Some(&self.entries[index].1)
    }

    fn by_key(&self) -> Vec<u32> {
        let count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let mut sorted: Vec<u32> = (0..count).collect();
        sorted.sort_by(|&one, &other| {
            self.entries[one as usize]
                .0
                .cmp(&self.entries[other as usize].0)
        });
        sorted
    }

    /// Makes keys unique: the first position, the last value.
    fn deduplicate(&mut self) {
        let has_twin = |index: usize| {
            let (before, key) = (&self.entries[..index], &self.entries[index].0);
            before.iter().any(|(known, _)| known == key)
        };
        if self.entries.len() <= LINEAR_MAX && !(1..self.entries.len()).any(has_twin) {
            return;
        }
        let sorted = self.by_key();
        let entries = &mut self.entries;
        let key = |entries: &[(Rc<str>, Value)], index: u32| Rc::clone(&entries[index as usize].0);
        let mut gone = Vec::new();
        let mut first = 0;
        // The sort is stable: equal keys keep their order.
        for index in 1..sorted.len() {
            if key(entries, sorted[index]) == key(entries, sorted[first]) {
                let later = entries[sorted[index] as usize].1.clone();
                entries[sorted[first] as usize].1 = later;
                gone.push(sorted[index]);
            } else {
                first = index;
            }
        }
        if gone.is_empty() {
            return;
        }
        gone.sort_unstable();
        let mut index = 0;
        entries.retain(|_| {
            index += 1;
            gone.binary_search(&(index - 1)).is_err()
        });
    }
}

/// A whole number as a float.
pub(crate) fn real(value: i128) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounds to nearest even, as Python does"
    )]
    let real = value as f64;
    real
}
