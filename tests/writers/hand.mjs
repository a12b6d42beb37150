// Writes the columns of columns.txt by hyparquet-writer: node hand.mjs LIBRARY.js columns.txt FOLDER
import { readFileSync } from 'fs'

const { parquetWriteFile } = await import(process.argv[2])
const TYPES = {
  bool: 'BOOLEAN', int32: 'INT32', int64: 'INT64', float: 'FLOAT', double: 'DOUBLE', text: 'STRING', bytes: 'BYTE_ARRAY',
  category: 'STRING', ts_ms: 'TIMESTAMP', date: 'INT32',
}
const floats = new DataView(new ArrayBuffer(8))

function valueOf(type, text) {
  if (text === '~') return undefined
  if (text.startsWith('x')) {
    const bytes = Buffer.from(text.slice(1), 'hex')
    return type === 'bytes' ? new Uint8Array(bytes) : bytes.toString('utf8')
  }
  switch (type) {
    case 'bool': return text === '1'
    case 'int64': return BigInt(text)
    case 'float': floats.setUint32(0, Number(text)); return floats.getFloat32(0)
    case 'double': floats.setBigUint64(0, BigInt(text)); return floats.getFloat64(0)
    case 'ts_ms': return new Date(Number(text))
    default: return Number(text)
  }
}

function write(type, shape, values) {
  if (!(type in TYPES)) return
  const data = values.map(text => valueOf(type, text))
  for (const [way, options] of Object.entries({ default: {}, 'row-groups': { rowGroupSize: 50 }, 'small-pages': { pageSize: 64 } })) {
    const filename = `${process.argv[4]}/${type}.${shape.replace(/[^a-z0-9]+/g, '-')}.${way}.parquet`
    try {
      parquetWriteFile({ filename, columnData: [{ name: 'c', data, type: TYPES[type] }], ...options })
    } catch (error) {
      console.log(`refused: ${type}, ${way}: ${error.message}`)
    }
  }
}

let type, shape, values = []
for (const line of readFileSync(process.argv[3], 'utf8').split('\n')) {
  if (line.startsWith('column\t')) {
    if (type) write(type, shape, values)
    ;[, type, shape] = line.split('\t')
    values = []
  } else if (line && line !== 'batch') values.push(line)
}
write(type, shape, values)
