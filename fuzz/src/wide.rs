//! Keys, rows, schema records and page tokens of wide partitions.

use crate::split_selector;
use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::components::LeadingComponents;
use ferrock_format::wide::{
    ColumnType, Component, Direction, KeyDecoder, PageToken, RowRef, SchemaRecord, begin_row, put_column,
};

/// `selector` 0: a byte with the number of components, a byte for each, a key. 1: a row. 2: a schema record. 3: the
/// body of a page token.
pub fn wide(data: &[u8]) {
    let (selector, bytes) = split_selector(data);
    match selector & 3 {
        0 => key(bytes),
        1 => row(bytes),
        2 => {
            if let Ok(record) = SchemaRecord::decode(bytes) {
                record.check().expect("decoded");
                assert_eq!(record.encode(), bytes);
            }
        }
        _ => {
            let mut token = bytes.to_vec();
            if selector & 4 != 0 {
                token.extend_from_slice(&mask_crc(crc32c(bytes)).to_le_bytes());
            }
            if let Ok(decoded) = PageToken::decode(&token) {
                assert_eq!(decoded.encode(), token);
            }
        }
    }
}

fn component(byte: u8) -> Component {
    Component {
        column_type: ColumnType::ALL[usize::from(byte >> 1) % ColumnType::ALL.len()],
        direction: if byte & 1 == 0 { Direction::Ascending } else { Direction::Descending },
    }
}

fn key(bytes: &[u8]) {
    let (count, rest) = split_selector(bytes);
    let (kinds, key) = rest.split_at(usize::from(count % 8).min(rest.len()));
    let components: Vec<Component> = kinds.iter().copied().map(component).collect();
    let mut decoder = KeyDecoder::new(key);
    let (mut again, mut ends) = (Vec::new(), Vec::new());
    for &component in &components {
        let mut skipping = decoder.clone();
        match decoder.next(component) {
            Ok(value) => {
                skipping.skip(component).expect("decoded");
                assert_eq!(skipping.position(), decoder.position());
                component.encode(value.as_ref(), &mut again).expect("of its type");
                ends.push(decoder.position());
            }
            Err(error) => {
                assert!(error.offset().is_some_and(|offset| offset <= key.len() as u64));
                return;
            }
        }
    }
    assert_eq!(again, key[..again.len()]);
    for (index, end) in ends.into_iter().enumerate() {
        let leading = LeadingComponents::new(components[..=index].iter().map(|component| component.shape()));
        assert_eq!(leading.length_in(key), Some(end));
        assert_eq!(LeadingComponents::parse(&leading.to_string()).expect("our own"), leading);
    }
    assert_eq!(decoder.finish().is_ok(), again.len() == key.len());
}

fn row(bytes: &[u8]) {
    let Ok(row) = RowRef::new(bytes) else { return };
    let mut again = Vec::new();
    begin_row(&mut again);
    for column in row.columns() {
        let Ok(column) = column else { return };
        let Ok(value) = column.value() else { return };
        assert_eq!(row.get(column.id).expect("read before").is_some(), value.is_some());
        match value {
            Some(value) => put_column(&mut again, column.id, value),
            None => return,
        }
    }
    assert_eq!(again, bytes);
}
