/** Columns of integers from zigzag varints: the inverse of flowsim/report/encoding.py. */

import type { Column } from "./model/head";

export type Ints = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float64Array;

/** Stands for 2^63-1 and, negative, for -2^63. */
export const BOUND = 2 ** 50;

/** The numbers of rows; the last one in the bytes is that of all further rows. */
export function varints(bytes: Uint8Array, rows: number): Float64Array {
  const found = new Float64Array(rows);
  let at = 0;
  let row = 0;
  for (; row < rows && at < bytes.length; row++) {
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
  if (at !== bytes.length || (rows && !row)) throw new Error("a column of the report is damaged");
  return row < rows ? found.fill(found[row - 1]!, row) : found;
}

/** Sums differences in place: over all rows, or within the group of each row, a small number. */
export function undoDifferences(values: Float64Array, groups: Ints | null): void {
  if (groups === null) {
    for (let row = 1; row < values.length; row++) values[row]! += values[row - 1]!;
    return;
  }
  const last: number[] = [];
  for (let row = 0; row < values.length; row++) {
    const group = groups[row]!;
    values[row] = last[group] = (last[group] ?? 0) + values[row]!;
  }
}

/** A column in the smallest type that holds it. ``groups``: of its rows, if its encoding has some. */
export function decoded({ encoding, limits }: Column, data: Uint8Array, rows: number, groups: () => Ints): Ints {
  const [least, most] = limits;
  if (least === most) return new (typeOf(least, most))(rows).fill(least);
  const values = varints(data, rows);
  if (encoding === "differences") undoDifferences(values, null);
  else if (encoding !== "values") undoDifferences(values, groups());
  return inType(values, least, most);
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
  return inType(values, least, most);
}

function inType(values: Float64Array, least: number, most: number): Ints {
  const type = typeOf(least, most);
  return type === Float64Array ? values : new type(values);
}

function typeOf(least: number, most: number) {
  if (least >= 0) return most < 2 ** 8 ? Uint8Array : most < 2 ** 16 ? Uint16Array : most < 2 ** 32 ? Uint32Array : Float64Array;
  if (least >= -(2 ** 7) && most < 2 ** 7) return Int8Array;
  if (least >= -(2 ** 15) && most < 2 ** 15) return Int16Array;
  return least >= -(2 ** 31) && most < 2 ** 31 ? Int32Array : Float64Array;
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
