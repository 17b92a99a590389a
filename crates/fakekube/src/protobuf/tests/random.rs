//! Generates random objects of a type.

use serde_json::{Map, Value, json};

use crate::schema::{Schema, Shape, TypeId};

/// A small generator of numbers; the seed says it all.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    pub(super) fn object(&mut self, of: TypeId) -> Value {
        let mut object = Map::new();
        self.fields(of, 0, &mut object);
        Value::Object(object)
    }

    fn fields(&mut self, of: TypeId, depth: u64, object: &mut Map<String, Value>) {
        for field in &Schema::get().at(of).fields {
            match &field.shape {
                Shape::Object(inner) if field.inline => self.fields(*inner, depth, object),
                shape if self.below(2 + depth) == 0 => {
                    let value = self.value(shape, depth + 1);
                    object.insert(field.name.clone(), value);
                }
                _ => {}
            }
        }
    }

    fn value(&mut self, shape: &Shape, depth: u64) -> Value {
        match shape {
            Shape::Bool => self.one_of(&[true, false]).into(),
            Shape::Int32 => self.one_of(&[0, 1, -1, 300, i32::MAX, i32::MIN]).into(),
            Shape::Int64 => self.one_of(&[0, 1, -1, 1 << 40, i64::MAX, i64::MIN]).into(),
            Shape::Float64 => self.one_of(&[0.5, -1.25, 1e300]).into(),
            Shape::String => self.one_of(&["", "x", "a.b/c", "\u{e9}\u{1f600}\0\""]).into(),
            Shape::Bytes => self.one_of(&["", "AA==", "AAEC", "//79"]).into(),
            Shape::Time => self.one_of(&[
                Value::Null,
                "2024-02-29T23:59:59Z".into(),
                "1969-12-31T23:59:58Z".into(),
                "1970-01-01T00:00:00Z".into(),
            ]),
            Shape::MicroTime => self.one_of(&[
                Value::Null,
                "2024-02-29T23:59:59.000001Z".into(),
                "1969-12-31T23:59:58.999999Z".into(),
            ]),
            Shape::Quantity => self.one_of(&["0", "1", "100m", "1Gi", "-5", "1500m", "1e3"]).into(),
            Shape::IntOrString => self.one_of(&[json!(0), json!(-80), json!(""), json!("25%"), json!("7")]),
            Shape::Raw | Shape::Fields => {
                self.one_of(&[json!({"a": [1, null, "x"]}), json!({}), json!({"f:x": {}})])
            }
            Shape::Object(of) => {
                let mut object = Map::new();
                self.fields(*of, depth, &mut object);
                Value::Object(object)
            }
            Shape::List(of) => {
                let length = self.below(4);
                (0..length).map(|_| self.value(of, depth + 1)).collect()
            }
            Shape::Map(of) => {
                let length = self.below(4);
                Value::Object((0..length).map(|at| (format!("k{at}"), self.value(of, depth + 1))).collect())
            }
        }
    }
}
