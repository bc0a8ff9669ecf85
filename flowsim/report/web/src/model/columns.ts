/** The columns of a table, each decoded when it is first read: a view needs few of them. */

import { decoded, type Ints } from "../decode";
import type { Section } from "./head";

export type Columns = Readonly<Record<string, Ints>>;

/** A value that is made when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/**
 * ``groups``: of the rows, by the name of the encoding, if no column has them. ``changes``: what a column is made of, from
 * the numbers that the report has of it.
 */
export function columnsOf(
  section: Section,
  data: Uint8Array,
  groups: Readonly<Record<string, () => Ints>> = {},
  changes: Readonly<Record<string, (given: Ints) => Ints>> = {},
): Columns {
  const columns: Record<string, Ints> = {};
  let offset = 0;
  for (const column of section.columns ?? []) {
    const { name, encoding, bytes } = column;
    const ofColumn = data.subarray(offset, offset + bytes);
    offset += bytes;
    const get = () => {
      const given = decoded(column, ofColumn, section.rows, () => groups[encoding]?.() ?? columns[encoding]!);
      const value = changes[name]?.(given) ?? given;
      Object.defineProperty(columns, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(columns, name, { get, enumerable: true, configurable: true });
  }
  return columns;
}
