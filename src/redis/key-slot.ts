/** How many slots the keys of a cluster are spread over. */
export const SLOTS = 16_384;

const POLYNOMIAL = 0x1021;
const CRC16 = Array.from({ length: 256 }, (_, byte) => crcOf(byte));

function crcOf(byte: number): number {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0)) & 0xffff;
  return crc;
}

/** The slot of a key, as the server computes it: of what stands in the first `{…}`, unless that is empty, else of the whole key. */
export function keySlot(key: string): number {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return crc16(close > open + 1 ? key.slice(open + 1, close) : key) % SLOTS;
}

function crc16(text: string): number {
  let crc = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 127) return crc16OfBytes(Buffer.from(text));
    crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ code] ?? 0);
  }
  return crc;
}

function crc16OfBytes(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ byte] ?? 0);
  return crc;
}
