/** The choice of a key; above some number of keys with a text that they contain. */

import { signal } from "@preact/signals";
import { commas } from "../model/text";
import type { Store } from "../store";

const MOST_OPTIONS = 200;

const wanted = signal("");

interface Props {
  store: Store;
  keys: number[];
  /** null: all keys. */
  chosen: number | null;
  hasAll?: boolean;
  onChoose?: () => void;
}

export function KeyChoice({ store, keys, chosen, hasAll = false, onChoose }: Props) {
  const { names } = store.model;
  if (!keys.length) return null;
  const isLong = keys.length > MOST_OPTIONS;
  const text = wanted.value.trim().toLowerCase();
  const matching = isLong && text ? keys.filter((key) => names.key(key).toLowerCase().includes(text)) : keys;
  const shown = matching.slice(0, MOST_OPTIONS);
  if (chosen !== null && !shown.includes(chosen)) shown.unshift(chosen);
  return (
    <>
      <label>
        Key{" "}
        <select
          value={chosen ?? 0}
          onChange={(event) => {
            store.select({ key: Number(event.currentTarget.value) });
            onChoose?.();
          }}
        >
          {hasAll && <option value={0}>all {commas(keys.length)} keys</option>}
          {shown.map((key) => <option value={key}>{names.key(key)}</option>)}
        </select>
      </label>
      {isLong && (
        <label>
          Keys with{" "}
          <input type="search" size={10} value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />{" "}
          <span class="faint">{commas(matching.length)} of {commas(keys.length)}</span>
        </label>
      )}
    </>
  );
}
