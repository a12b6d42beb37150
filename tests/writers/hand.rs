//! Writes the columns of columns.txt by the crates arrow and parquet: hand columns.txt FOLDER.

use std::fs::{remove_file, File};
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterVersion};

fn numbers<T: std::str::FromStr>(values: &[String]) -> Vec<Option<T>> {
    values.iter().map(|v| v.parse::<T>().ok()).collect()
}

fn bytes(values: &[String]) -> Vec<Option<Vec<u8>>> {
    let pair = |v: &str, at: usize| u8::from_str_radix(&v[at..at + 2], 16).unwrap();
    let whole = |v: &str| (1..v.len()).step_by(2).map(|at| pair(v, at)).collect();
    values.iter().map(|v| v.starts_with('x').then(|| whole(v))).collect()
}

fn texts(values: &[String]) -> Vec<Option<String>> {
    bytes(values).into_iter().map(|v| v.map(|b| String::from_utf8(b).unwrap())).collect()
}

fn array(kind: &str, values: &[String]) -> Option<ArrayRef> {
    if let Some(said) = kind.strip_prefix("decimal(") {
        let parts: Vec<&str> = said.trim_end_matches(')').split(',').collect();
        let made = Decimal128Array::from(numbers::<i128>(values));
        let made = made.with_precision_and_scale(parts[0].parse().unwrap(), parts[1].parse().unwrap());
        return Some(Arc::new(made.unwrap()));
    }
    Some(match kind {
        "bool" => Arc::new(BooleanArray::from(values.iter().map(|v| (v != "~").then(|| v == "1")).collect::<Vec<_>>())),
        "int8" => Arc::new(Int8Array::from(numbers::<i8>(values))),
        "int16" => Arc::new(Int16Array::from(numbers::<i16>(values))),
        "int32" => Arc::new(Int32Array::from(numbers::<i32>(values))),
        "int64" => Arc::new(Int64Array::from(numbers::<i64>(values))),
        "uint8" => Arc::new(UInt8Array::from(numbers::<u8>(values))),
        "uint16" => Arc::new(UInt16Array::from(numbers::<u16>(values))),
        "uint32" => Arc::new(UInt32Array::from(numbers::<u32>(values))),
        "uint64" => Arc::new(UInt64Array::from(numbers::<u64>(values))),
        "half" => {
            let bits = numbers::<u16>(values).into_iter().map(|v| v.map(half::f16::from_bits));
            Arc::new(Float16Array::from(bits.collect::<Vec<_>>()))
        }
        "float" => {
            let bits = numbers::<u32>(values).into_iter().map(|v| v.map(f32::from_bits));
            Arc::new(Float32Array::from(bits.collect::<Vec<_>>()))
        }
        "double" => {
            let bits = numbers::<u64>(values).into_iter().map(|v| v.map(f64::from_bits));
            Arc::new(Float64Array::from(bits.collect::<Vec<_>>()))
        }
        "date" => Arc::new(Date32Array::from(numbers::<i32>(values))),
        "ts_ms" => Arc::new(TimestampMillisecondArray::from(numbers::<i64>(values))),
        "ts_us" => Arc::new(TimestampMicrosecondArray::from(numbers::<i64>(values))),
        "ts_ns" => Arc::new(TimestampNanosecondArray::from(numbers::<i64>(values))),
        "text" => Arc::new(StringArray::from(texts(values))),
        "bytes" => Arc::new(BinaryArray::from_iter(bytes(values))),
        "fixed4" => {
            let whole = bytes(values).into_iter();
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(whole, 4).ok()?)
        }
        "category" => {
            let whole = texts(values);
            let words = whole.iter().map(|v| v.as_deref());
            Arc::new(words.collect::<DictionaryArray<arrow::datatypes::Int32Type>>())
        }
        _ => return None,
    })
}

fn properties(way: &str) -> WriterProperties {
    let made = WriterProperties::builder();
    let small = |b: parquet::file::properties::WriterPropertiesBuilder| {
        b.set_data_page_size_limit(64).set_write_batch_size(8)
    };
    match way {
        "small-pages" => small(made).set_dictionary_enabled(false).build(),
        "version-2" => small(made).set_writer_version(WriterVersion::PARQUET_2_0).build(),
        _ => made.build(),
    }
}

fn write(folder: &str, kind: &str, shape: &str, batches: &[Vec<String>]) {
    let arrays: Vec<ArrayRef> = batches.iter().filter_map(|batch| array(kind, batch)).collect();
    if arrays.is_empty() || arrays.len() < batches.len() {
        return;
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let (kind, shape): (String, String) = (kind.chars().map(plain).collect(), shape.chars().map(plain).collect());
    for way in ["default", "row-groups", "small-pages", "version-2"] {
        let path = format!("{folder}/{kind}.{shape}.{way}.parquet");
        let schema = Arc::new(Schema::new(vec![Field::new("c", arrays[0].data_type().clone(), true)]));
        let done = || -> parquet::errors::Result<()> {
            let mut out = ArrowWriter::try_new(File::create(&path)?, schema.clone(), Some(properties(way)))?;
            for array in &arrays {
                out.write(&RecordBatch::try_new(schema.clone(), vec![array.clone()])?)?;
                if way == "row-groups" {
                    out.flush()?;
                }
            }
            out.close()?;
            Ok(())
        };
        if let Err(error) = done() {
            println!("refused: {kind}, {way}: {error}");
            remove_file(&path).ok();
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (mut kind, mut shape, mut batches) = (String::new(), String::new(), Vec::new());
    for line in BufReader::new(File::open(&args[1]).unwrap()).lines().map(|line| line.unwrap()) {
        if let Some(named) = line.strip_prefix("column\t") {
            write(&args[2], &kind, &shape, &batches);
            let (a, b) = named.split_once('\t').unwrap();
            (kind, shape, batches) = (a.to_string(), b.to_string(), Vec::new());
        } else if line == "batch" {
            batches.push(Vec::new());
        } else {
            batches.last_mut().unwrap().push(line);
        }
    }
    write(&args[2], &kind, &shape, &batches);
}
