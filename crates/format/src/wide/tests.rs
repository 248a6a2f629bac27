use super::*;
use ferrock_base::components::LeadingComponents;
use proptest::prelude::*;
use std::cmp::Ordering;

/// The order of values, without their encoding.
fn naive(a: &Value, b: &Value) -> Ordering {
    let floats = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        // -0.0 == 0.0
        (false, false) => a.partial_cmp(&b).unwrap(),
    };
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::I32(a), Value::I32(b)) => a.cmp(b),
        (Value::U32(a), Value::U32(b)) => a.cmp(b),
        (Value::F32(a), Value::F32(b)) => floats(f64::from(*a), f64::from(*b)),
        (Value::I64(a), Value::I64(b)) => a.cmp(b),
        (Value::U64(a), Value::U64(b)) => a.cmp(b),
        (Value::F64(a), Value::F64(b)) => floats(*a, *b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.0.cmp(&b.0),
        (Value::Uuid(a), Value::Uuid(b)) => a.0.iter().cmp(&b.0),
        (Value::Bytes(a), Value::Bytes(b)) => a.iter().cmp(b),
        (Value::Text(a), Value::Text(b)) => a.chars().cmp(b.chars()),
        _ => panic!("{a:?} and {b:?} are of different types"),
    }
}

fn naive_tuple(components: &[Component], a: &[Value], b: &[Value]) -> Ordering {
    let ordered = components.iter().zip(a.iter().zip(b)).map(|(component, (a, b))| match component.direction {
        Direction::Ascending => naive(a, b),
        Direction::Descending => naive(b, a),
    });
    ordered.fold(Ordering::Equal, Ordering::then)
}

fn encode(components: &[Component], values: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    for (component, value) in components.iter().zip(values) {
        component.encode(value.as_ref(), &mut key).unwrap();
    }
    key
}

fn decode(components: &[Component], key: &[u8]) -> ferrock_base::Result<Vec<Value>> {
    let mut decoder = KeyDecoder::new(key);
    let values = components.iter().map(|&component| decoder.next(component)).collect::<Result<Vec<_>, _>>()?;
    decoder.finish().map(|()| values)
}

/// What comes back: one zero, one NaN.
fn normal(value: &Value) -> Value {
    match *value {
        Value::F32(value) => Value::F32(value + 0.0),
        Value::F64(value) => Value::F64(value + 0.0),
        _ => value.clone(),
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, b'a', 0xfe, 0xff]), 0..5)
}

fn text() -> impl Strategy<Value = String> {
    let character = prop::sample::select(vec!['\0', '\u{1}', 'a', 'b', '\u{7f}', 'é', '\u{ffff}', '\u{10ffff}']);
    prop::collection::vec(character, 0..5).prop_map(|characters| characters.into_iter().collect())
}

fn float() -> impl Strategy<Value = f64> {
    let special = [0.0, -0.0, 1.0, -1.0, f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324, -5e-324, f64::EPSILON];
    let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
    prop_oneof![prop::sample::select([&special[..], &ends].concat()), any::<u64>().prop_map(f64::from_bits)]
}

fn integer() -> impl Strategy<Value = i64> {
    let special = vec![0, 1, -1, 255, 256, -256, i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX)];
    prop_oneof![prop::sample::select(special), any::<i64>()]
}

fn value_of(column_type: ColumnType) -> BoxedStrategy<Value> {
    match column_type {
        ColumnType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        ColumnType::I32 => integer().prop_map(|value| Value::I32(value as i32)).boxed(),
        ColumnType::U32 => integer().prop_map(|value| Value::U32(value as u32)).boxed(),
        ColumnType::F32 => float().prop_map(|value| Value::F32(value as f32)).boxed(),
        ColumnType::I64 => integer().prop_map(Value::I64).boxed(),
        ColumnType::U64 => integer().prop_map(|value| Value::U64(value as u64)).boxed(),
        ColumnType::F64 => float().prop_map(Value::F64).boxed(),
        ColumnType::Timestamp => integer().prop_map(|value| Value::Timestamp(Timestamp(value))).boxed(),
        ColumnType::Uuid => {
            let word = prop::sample::select(vec![0u64, 1, 0xff, u64::MAX, 1 << 63]);
            (word.clone(), word)
                .prop_map(|(high, low)| {
                    let both = u128::from(high) << 64 | u128::from(low);
                    Value::Uuid(Uuid(both.to_be_bytes()))
                })
                .boxed()
        }
        ColumnType::Bytes => bytes().prop_map(Value::Bytes).boxed(),
        ColumnType::Text => text().prop_map(Value::Text).boxed(),
    }
}

fn component() -> impl Strategy<Value = Component> {
    (prop::sample::select(ColumnType::ALL), any::<bool>()).prop_map(|(column_type, is_descending)| Component {
        column_type,
        direction: if is_descending { Direction::Descending } else { Direction::Ascending },
    })
}

fn tuple(components: &[Component]) -> impl Strategy<Value = Vec<Value>> + use<> {
    components.iter().map(|component| value_of(component.column_type)).collect::<Vec<_>>()
}

/// Components, and tuples of them.
fn tuples() -> impl Strategy<Value = (Vec<Component>, Vec<Vec<Value>>)> {
    prop::collection::vec(component(), 1..5).prop_flat_map(|components| {
        let rows = prop::collection::vec(tuple(&components), 2..12);
        // Many that begin alike.
        (Just(components), rows).prop_map(|(components, mut rows)| {
            for index in 1..rows.len() {
                let (before, after) = rows.split_at_mut(index);
                let places = before[index - 1].iter().zip(&mut after[0]).enumerate().take(components.len() - 1);
                for (place, (from, to)) in places {
                    if (index + place) % 3 != 0 {
                        *to = from.clone();
                    }
                }
            }
            (components, rows)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn bytes_are_in_the_order_of_tuples((components, rows) in tuples()) {
        for a in &rows {
            for b in &rows {
                let (key_a, key_b) = (encode(&components, a), encode(&components, b));
                prop_assert_eq!(key_a.cmp(&key_b), naive_tuple(&components, a, b), "{:?} {:?} {:?}", components, a, b);
            }
        }
    }

    #[test]
    fn keys_come_back((components, rows) in tuples()) {
        for row in &rows {
            let key = encode(&components, row);
            let back = decode(&components, &key).unwrap();
            for (value, back) in row.iter().zip(&back) {
                let is_nan = matches!(value, Value::F32(v) if v.is_nan()) || matches!(value, Value::F64(v) if v.is_nan());
                prop_assert!(is_nan || normal(value) == *back, "{:?} became {:?}", value, back);
                // -0.0 would be equal.
                prop_assert!(!matches!(back, Value::F64(v) if *v == 0.0 && v.is_sign_negative()));
            }
            prop_assert_eq!(encode(&components, &back), key);
        }
    }

    /// With every count of components: that of a partition among them.
    #[test]
    fn nothing_is_a_prefix_of_another((components, rows) in tuples()) {
        for count in 1..=components.len() {
            let leading = LeadingComponents::new(components[..count].iter().map(|component| component.shape()));
            for a in &rows {
                let key = encode(&components, a);
                let partition = encode(&components[..count], a);
                prop_assert_eq!(leading.length_in(&key), Some(partition.len()));
                for b in &rows {
                    let other = encode(&components[..count], b);
                    prop_assert!(partition == other || !other.starts_with(&partition));
                    let is_same = naive_tuple(&components[..count], a, b).is_eq();
                    prop_assert_eq!(partition == other, is_same);
                }
            }
        }
    }

    /// What is not a key is refused, and what is accepted has no other form.
    #[test]
    fn other_bytes_are_refused_or_come_back(
        components in prop::collection::vec(component(), 1..4),
        key in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x7f, 0x80, 0xfe, 0xff, b'a']), 0..24),
    ) {
        match decode(&components, &key) {
            Ok(values) => prop_assert_eq!(encode(&components, &values), key),
            Err(error) => {
                prop_assert!(error.is_corruption() && error.to_string().contains("component"), "{}", error);
                prop_assert!(error.offset().unwrap() as usize <= key.len());
            }
        }
    }

    #[test]
    fn rows_come_back(columns in prop::collection::btree_map(1u32..400, prop::sample::select(ColumnType::ALL).prop_flat_map(value_of), 0..8)) {
        let mut row = Vec::new();
        begin_row(&mut row);
        columns.iter().for_each(|(&id, value)| put_column(&mut row, id, value.as_ref()));
        let row = RowRef::new(&row).unwrap();
        let bits = |value: ValueRef<'_>| match value {
            ValueRef::F32(value) => Value::U32(value.to_bits()),
            ValueRef::F64(value) => Value::U64(value.to_bits()),
            other => other.to_value(),
        };
        let back: Vec<_> = row.columns().map(|column| column.unwrap()).map(|c| (c.id, bits(c.value().unwrap().unwrap()))).collect();
        let expected: Vec<_> = columns.iter().map(|(&id, value)| (id, bits(value.as_ref()))).collect();
        prop_assert_eq!(back, expected);
        for id in 0..402 {
            prop_assert_eq!(row.get(id).unwrap().map(bits), columns.get(&id).map(|value| bits(value.as_ref())));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_worked_example_of_the_documentation() {
    let page = include_str!("../../../../docs/format/wide-keys.md");
    let key_column = |name: &str, component| KeyColumn { name: name.to_owned(), component };
    let schema = SchemaRecord {
        partition: vec![
            key_column("room", Component::ascending(ColumnType::Text)),
            key_column("shard", Component::ascending(ColumnType::U32)),
        ],
        clustering: vec![
            key_column("at", Component::descending(ColumnType::Timestamp)),
            key_column("device", Component::descending(ColumnType::Bytes)),
        ],
        columns: vec![
            Column { id: 1, name: "author".to_owned(), column_type: ColumnType::Text },
            Column { id: 2, name: "body".to_owned(), column_type: ColumnType::Text },
            Column { id: 5, name: "score".to_owned(), column_type: ColumnType::F64 },
        ],
    };
    let components: Vec<Component> =
        schema.partition.iter().chain(&schema.clustering).map(|column| column.component).collect();
    let values = [
        Value::from("lobby"),
        Value::from(7u32),
        Value::from(Timestamp(1_700_000_000_000_000)),
        Value::from(b"d\0\xff"),
    ];
    let key = encode(&components, &values);
    let mut shown = Vec::new();
    for (component, value) in components.iter().zip(&values) {
        let part = hex(&encode(&[*component], std::slice::from_ref(value)));
        assert!(page.contains(&format!("    {part} ")), "the page has not: {part}");
        shown.push(part);
    }
    assert_eq!(shown.join(" "), hex(&key));
    let mut row = Vec::new();
    begin_row(&mut row);
    for (id, value) in [(1, ValueRef::from("ada")), (2, "hi".into()), (5, 0.5.into())] {
        let start = row.len();
        put_column(&mut row, id, value);
        let part = hex(&row[start..]);
        assert!(page.contains(&format!("    {part} ")), "the page has not: {part}");
    }
    let record = schema.encode();
    assert_eq!(SchemaRecord::decode(&record).unwrap(), schema);
    let token = PageToken { query: 0x1122_3344_5566_7788, range: 0, key: key[11..].to_vec() };
    let stored = hex(&token.encode());
    for part in hex(&record).as_bytes().chunks(48).chain(stored.as_bytes().chunks(48)) {
        let part = String::from_utf8_lossy(part);
        assert!(page.contains(part.trim()), "the page has not: {part}");
    }
    assert_eq!(PageToken::decode(&token.encode()).unwrap(), token);
}

#[test]
fn values_of_other_types_are_refused_and_numbers_fit() {
    let mut out = Vec::new();
    let component = Component::ascending(ColumnType::U32);
    component.encode(ValueRef::I32(7), &mut out).unwrap();
    component.encode(ValueRef::I64(7), &mut out).unwrap();
    assert_eq!(out, [0, 0, 0, 7, 0, 0, 0, 7]);
    for wrong in [ValueRef::I32(-1), ValueRef::U64(1 << 32), ValueRef::Text("7"), ValueRef::F64(7.0)] {
        let error = component.encode(wrong, &mut out).unwrap_err();
        assert!(error.to_string().contains("u32"), "{error}");
    }
    assert_eq!(out.len(), 8);
    assert!(Component::ascending(ColumnType::Timestamp).encode(ValueRef::I64(7), &mut out).is_err());
}

#[test]
fn unknown_columns_are_stepped_over() {
    // Column 1 of a type of four bytes that is not known, 2 of one with a length, 3 a bool.
    let row = [1, 1, 0x2f, 1, 2, 3, 4, 2, 0x5f, 2, 8, 8, 3, 0x10, 1];
    let row = RowRef::new(&row).unwrap();
    assert_eq!(row.get(1).unwrap(), None);
    assert_eq!(row.get(3).unwrap(), Some(ValueRef::Bool(true)));
    assert_eq!(row.columns().nth(1).unwrap().unwrap().value().unwrap(), None);
    // What is behind the column asked for is not looked at.
    let damaged = [1, 1, 0x10, 0, 1, 0x10, 0];
    assert_eq!(RowRef::new(&damaged).unwrap().get(1).unwrap(), Some(ValueRef::Bool(false)));
    for (wrong, offset, part) in [
        (&damaged[..], 4, "ascend"),
        (&[1, 0, 0x10, 0], 1, "ascend"),
        (&[1, 1, 0x60, 0], 1, "width"),
        (&[1, 1, 0x30, 0], 1, "ends inside"),
        (&[1, 0x81, 0, 0x10, 0], 1, "longer than it needs"),
        (&[1, 1, 0x51, 0xff, 0xff, 0xff, 0xff, 0xf], 1, "ends inside"),
    ] {
        let error = RowRef::new(wrong).unwrap().get(9).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains(part), "{error}");
        assert_eq!(error.offset(), Some(offset));
    }
    assert!(RowRef::new(&[2]).is_err() && RowRef::new(&[]).is_err());
    assert!(RowRef::new(&[1, 1, 0x10, 2]).unwrap().get(1).is_err(), "a bool that is 2");
    assert!(RowRef::new(&[1, 1, 0x51, 1, 0xff]).unwrap().get(1).is_err(), "text that is not UTF-8");
}

#[test]
fn schemas_that_cannot_be_are_refused() {
    let key_column = |name: &str| KeyColumn { name: name.to_owned(), component: Component::ascending(ColumnType::I64) };
    let column = |id, name: &str| Column { id, name: name.to_owned(), column_type: ColumnType::Text };
    let schema = |partition: Vec<KeyColumn>, columns| SchemaRecord { partition, clustering: Vec::new(), columns };
    let key = || vec![key_column("k")];
    for (wrong, part) in [
        (schema(Vec::new(), Vec::new()), "no partition component"),
        (schema(vec![key_column("k"); 2], Vec::new()), "two are called"),
        (schema(key(), vec![column(1, "k")]), "two are called"),
        (schema(key(), vec![column(1, "")]), "empty"),
        (schema(key(), vec![column(0, "a")]), "id 0"),
        (schema(key(), vec![column(2, "a"), column(2, "b")]), "same id"),
        (schema((0..17).map(|n| key_column(&n.to_string())).collect(), Vec::new()), "limit is 16"),
    ] {
        let error = wrong.check().unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(SchemaRecord::decode(&wrong.encode()).is_err(), "{part}");
    }
    let good = schema(key(), vec![column(1, "a"), column(300, "b")]).encode();
    assert!(SchemaRecord::decode(&good).is_ok());
    for length in 0..good.len() {
        assert!(SchemaRecord::decode(&good[..length]).is_err(), "{length}");
    }
    assert!(SchemaRecord::decode(&[&good[..], &[0]].concat()).unwrap_err().to_string().contains("behind"));
}

#[test]
fn tokens_that_are_cut_or_changed_are_refused() {
    let token = PageToken { query: 7, range: 200, key: b"key".to_vec() }.encode();
    for length in 0..token.len() {
        assert!(PageToken::decode(&token[..length]).is_err(), "{length}");
        for bit in 0..8 {
            let mut changed = token.clone();
            changed[length] ^= 1 << bit;
            assert!(PageToken::decode(&changed).is_err(), "byte {length}, bit {bit}");
        }
    }
}

#[test]
fn what_is_behind_a_prefix() {
    let successor = |prefix: &[u8]| {
        let mut out = vec![9];
        successor_into(prefix, &mut out);
        out
    };
    assert_eq!(successor(b"ab"), b"ac");
    assert_eq!(successor(b"a\xff\xff"), b"b");
    assert_eq!(successor(b"\xff"), b"");
    assert_eq!(successor(b""), b"");
}
