/** Columns of integers from zigzag varints: the inverse of flowsim/report/encoding.py. */

export type Ints = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float64Array;

/** Stands for 2^63-1 and, negative, for -2^63. */
export const BOUND = 2 ** 50;

export function varints(bytes: Uint8Array, offset: number, length: number, rows: number): Float64Array {
  const found = new Float64Array(rows);
  const end = offset + length;
  let at = offset;
  for (let row = 0; row < rows; row++) {
    let byte = bytes[at++]!;
    if (byte < 128) {
      found[row] = byte & 1 ? -((byte + 1) >> 1) : byte >> 1;
      continue;
    }
    // Above 31 bits only the arithmetic of doubles is exact.
    let value = byte & 127;
    let factor = 128;
    do {
      byte = bytes[at++]!;
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    found[row] = value % 2 ? -(value + 1) / 2 : value / 2;
  }
  if (at !== end) throw new Error("a column of the report is damaged");
  return found;
}

/** Sums differences in place: over all rows, or within the group of each row. */
export function undoDifferences(values: Float64Array, groups: Ints | null): void {
  if (groups === null) {
    for (let row = 1; row < values.length; row++) values[row]! += values[row - 1]!;
    return;
  }
  const last = new Map<number, number>();
  let group = -1;
  let value = 0;
  for (let row = 0; row < values.length; row++) {
    if (groups[row] !== group) {
      last.set(group, value);
      group = groups[row]!;
      value = last.get(group) ?? 0;
    }
    value += values[row]!;
    values[row] = value;
  }
}

/** The same numbers in the smallest type that holds them. */
export function narrowed(values: Float64Array): Ints {
  let least = 0;
  let most = 0;
  for (let row = 0; row < values.length; row++) {
    const value = values[row]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least >= 0 && most < 2 ** 8) return Uint8Array.from(values);
  if (least >= -(2 ** 7) && most < 2 ** 7) return Int8Array.from(values);
  if (least >= 0 && most < 2 ** 16) return Uint16Array.from(values);
  if (least >= -(2 ** 15) && most < 2 ** 15) return Int16Array.from(values);
  if (least >= 0 && most < 2 ** 32) return Uint32Array.from(values);
  if (least >= -(2 ** 31) && most < 2 ** 31) return Int32Array.from(values);
  return values;
}

export async function inflated(compressed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const direct = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (direct) return direct.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
