// Writes the columns of columns.txt by Go's Arrow: hand columns.txt FOLDER.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"MODULE/arrow"
	"MODULE/arrow/array"
	"MODULE/arrow/decimal128"
	"MODULE/arrow/float16"
	"MODULE/arrow/memory"
	"MODULE/parquet"
	"MODULE/parquet/pqarrow"
)

var refused = map[string]bool{}
var odd = regexp.MustCompile("[^a-z0-9]+")

var types = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "half": arrow.FixedWidthTypes.Float16,
	"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64,
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"date": arrow.FixedWidthTypes.Date32, "text": arrow.BinaryTypes.String, "bytes": arrow.BinaryTypes.Binary,
	"fixed4": &arrow.FixedSizeBinaryType{ByteWidth: 4}, "time_ms": arrow.FixedWidthTypes.Time32ms,
	"time_us": arrow.FixedWidthTypes.Time64us, "time_ns": arrow.FixedWidthTypes.Time64ns,
	"ts_ms": &arrow.TimestampType{Unit: arrow.Millisecond}, "ts_us": &arrow.TimestampType{Unit: arrow.Microsecond},
	"ts_ns": &arrow.TimestampType{Unit: arrow.Nanosecond}, "utc_us": arrow.FixedWidthTypes.Timestamp_us,
	"category": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
}

func typeOf(name string) arrow.DataType {
	if strings.HasPrefix(name, "decimal(") {
		var precision, scale int32
		fmt.Sscanf(name, "decimal(%d,%d)", &precision, &scale)
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	if strings.HasPrefix(name, "struct<") {
		inner := typeOf(name[7 : len(name)-1])
		if inner == nil {
			return nil
		}
		return arrow.StructOf(arrow.Field{Name: "f", Type: inner, Nullable: true})
	}
	return types[name]
}

func add(to array.Builder, text string) {
	if text == "!" || (text == "~" && to.Type().ID() != arrow.STRUCT) {
		to.AppendNull()
		return
	}
	number, _ := strconv.ParseInt(text, 10, 64)
	unsigned, _ := strconv.ParseUint(text, 10, 64)
	var bytes []byte
	if strings.HasPrefix(text, "x") {
		bytes, _ = hex.DecodeString(text[1:])
	}
	switch b := to.(type) {
	case *array.StructBuilder:
		b.Append(true)
		add(b.FieldBuilder(0), text)
	case *array.BooleanBuilder:
		b.Append(number == 1)
	case *array.Float16Builder:
		b.Append(float16.FromBits(uint16(unsigned)))
	case *array.Float32Builder:
		b.Append(math.Float32frombits(uint32(unsigned)))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(unsigned))
	case *array.Int8Builder:
		b.Append(int8(number))
	case *array.Int16Builder:
		b.Append(int16(number))
	case *array.Int32Builder:
		b.Append(int32(number))
	case *array.Int64Builder:
		b.Append(number)
	case *array.Uint8Builder:
		b.Append(uint8(unsigned))
	case *array.Uint16Builder:
		b.Append(uint16(unsigned))
	case *array.Uint32Builder:
		b.Append(uint32(unsigned))
	case *array.Uint64Builder:
		b.Append(unsigned)
	case *array.Date32Builder:
		b.Append(arrow.Date32(number))
	case *array.Time32Builder:
		b.Append(arrow.Time32(number))
	case *array.Time64Builder:
		b.Append(arrow.Time64(number))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(number))
	case *array.Decimal128Builder:
		whole, _ := new(big.Int).SetString(text, 10)
		b.Append(decimal128.FromBigInt(whole))
	case *array.StringBuilder:
		b.Append(string(bytes))
	case *array.BinaryBuilder:
		b.Append(bytes)
	case *array.FixedSizeBinaryBuilder:
		b.Append(bytes)
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(string(bytes)); err != nil {
			panic(err)
		}
	default:
		panic("no builder of " + to.Type().String())
	}
}

func write(folder, name, shape, way string, batches [][]string) {
	file := filepath.Join(folder, strings.Trim(odd.ReplaceAllString(name, "-"), "")+"."+odd.ReplaceAllString(shape, "-")+"."+way+".parquet")
	defer func() {
		if wrong := recover(); wrong != nil {
			os.Remove(file)
			refused[fmt.Sprintf("refused: %s, %s: %v", name, way, wrong)] = true
		}
	}()
	kind := typeOf(name)
	if kind == nil {
		return
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: kind, Nullable: true}}, nil)
	options := []parquet.WriterProperty{parquet.WithStats(true)}
	switch way {
	case "small-pages":
		options = append(options, parquet.WithDataPageSize(64), parquet.WithBatchSize(8), parquet.WithDictionaryDefault(false))
	case "version-2":
		options = append(options, parquet.WithDataPageSize(64), parquet.WithBatchSize(8), parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithVersion(parquet.V2_LATEST))
	}
	out, err := os.Create(file)
	if err != nil {
		panic(err)
	}
	writer, err := pqarrow.NewFileWriter(schema, out, parquet.NewWriterProperties(options...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		panic(err)
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, batch := range batches {
		for _, text := range batch {
			add(builder.Field(0), text)
		}
		record := builder.NewRecord()
		if way == "row-groups" {
			err = writer.Write(record)
		} else {
			err = writer.WriteBuffered(record)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
}

func main() {
	in, _ := os.Open(os.Args[1])
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	var name, shape string
	var batches [][]string
	flush := func() {
		for _, way := range []string{"default", "row-groups", "small-pages", "version-2"} {
			if name != "" {
				write(os.Args[2], name, shape, way, batches)
			}
		}
		batches = nil
	}
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "column\t") {
			flush()
			parts := strings.Split(line, "\t")
			name, shape = parts[1], parts[2]
		} else if line == "batch" {
			batches = append(batches, nil)
		} else {
			batches[len(batches)-1] = append(batches[len(batches)-1], line)
		}
	}
	flush()
	for why := range refused {
		fmt.Println(why)
	}
}
