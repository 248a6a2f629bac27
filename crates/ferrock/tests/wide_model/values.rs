//! Values at random, few enough that keys meet, and their order, which is not that of any bytes.

use ferrock::wide::{ColumnType, Timestamp, Uuid, Value};
use ferrock_base::random::Random;
use std::cmp::Ordering;

fn pick<T: Clone>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize].clone()
}

/// A value of a type. Zero has one sign and NaN one form, as keys have them.
pub fn random_value(random: &mut Random, column_type: ColumnType) -> Value {
    let integer = pick(random, &[0i64, 1, -1, 2, 255, 256, i64::MIN, i64::MAX, i64::from(i32::MIN)]);
    let float = pick(random, &[0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN, 5e-324]);
    match column_type {
        ColumnType::Bool => Value::Bool(random.one_in(2)),
        ColumnType::I32 => Value::I32(integer as i32),
        ColumnType::U32 => Value::U32(integer as u32),
        ColumnType::F32 => Value::F32(float as f32),
        ColumnType::I64 => Value::I64(integer),
        ColumnType::U64 => Value::U64(integer as u64),
        ColumnType::F64 => Value::F64(float),
        ColumnType::Timestamp => Value::Timestamp(Timestamp(integer)),
        ColumnType::Uuid => Value::Uuid(Uuid([pick(random, &[0, 1, 0x80, 0xff]); 16])),
        ColumnType::Bytes => {
            Value::Bytes((0..random.below(4)).map(|_| pick(random, &[0, 1, b'a', 0xfe, 0xff])).collect())
        }
        ColumnType::Text => {
            Value::Text((0..random.below(4)).map(|_| pick(random, &['\0', '\u{1}', 'a', 'é', '\u{10ffff}'])).collect())
        }
    }
}

fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The order of two values of one type.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::I32(a), Value::I32(b)) => a.cmp(b),
        (Value::U32(a), Value::U32(b)) => a.cmp(b),
        (Value::F32(a), Value::F32(b)) => floats(f64::from(*a), f64::from(*b)),
        (Value::I64(a), Value::I64(b)) => a.cmp(b),
        (Value::U64(a), Value::U64(b)) => a.cmp(b),
        (Value::F64(a), Value::F64(b)) => floats(*a, *b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => panic!("{a:?} and {b:?} are of different types"),
    }
}
