//! Rejects JSON that two parsers may read differently: duplicate keys, deep nesting, trailing data.
//!
//! Only the outermost keys are returned; errors quote keys, never values.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Maximum depth of nesting. Plans stay far below it (`limits::CODE_DEPTH_MAX`).
const DEPTH_MAX: usize = 120;

/// The outermost keys of the JSON object `text`.
///
/// # Errors
/// When it is not one JSON object, has a duplicate key or nests too deeply.
pub(super) fn keys(text: &[u8]) -> Result<BTreeSet<String>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let mut outermost = BTreeSet::new();
    let walk = Walk {
        depth: 0,
        keys: Some(&mut outermost),
    };
    walk.deserialize(&mut reader)?;
    reader.end()?;
    Ok(outermost)
}

struct Walk<'a> {
    depth: usize,
    keys: Option<&'a mut BTreeSet<String>>,
}

impl Walk<'_> {
    fn below<E: Error>(&self) -> Result<Walk<'static>, E> {
        if self.depth >= DEPTH_MAX {
            return Err(E::custom(format!("nests more than {DEPTH_MAX} deep")));
        }
        Ok(Walk {
            depth: self.depth + 1,
            keys: None,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        match self.keys {
            Some(_) => reader.deserialize_map(self),
            None => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value_seed(self.below()?)?;
            if let Some(key) = seen.replace(key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
        }
        if let Some(keys) = self.keys {
            *keys = seen;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(self.below()?)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &str) -> String {
        keys(text.as_bytes()).expect_err(text).to_string()
    }

    /// Broken if a duplicate key is accepted: the checked value may then differ from the one used.
    #[test]
    fn a_key_stands_once() {
        assert!(fails(r#"{"plan":{"a":1,"a":2}}"#).contains("\"a\" stands twice"));
        assert!(fails(r#"{"a":[{"b":1,"\u0062":2}]}"#).contains("\"b\" stands twice"));
        let found = keys(br#"{"plan":{"a":1},"seed":{"a":2}}"#).expect("it is sound");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["plan", "seed"]);
    }

    /// Broken if deep nesting ends the process, or trailing data is accepted.
    #[test]
    fn it_is_one_object_of_bounded_depth() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
        fails(&deep);
        let most = format!("{{\"a\":{}1{}}}", "[".repeat(119), "]".repeat(119));
        keys(most.as_bytes()).expect("deep enough for any plan");
        for text in ["", "[]", "1", "{", "{} {}", "{\"a\":1,}", "nul"] {
            fails(text);
        }
    }
}
