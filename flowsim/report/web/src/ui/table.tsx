/** Tables of numbers with links to moments. */

import type { ComponentChildren } from "preact";
import { commas, moment } from "../model/text";
import type { Store } from "../store";

/** Rows of a table; more are left out. */
export const MOST_ROWS = 200;

interface TableProps {
  caption: string;
  heads: string[];
  left?: number;
  note?: ComponentChildren;
  /** It scrolls in a part of the page. */
  isLow?: boolean;
  children: ComponentChildren;
}

/** The first column and those without a number are texts. */
export function Table({ caption, heads, left = 0, note = "", isLow = false, children }: TableProps) {
  return (
    <div class={isLow ? "scroll low" : "scroll"} role="group" aria-label={caption} tabIndex={0}>
      <table class="checkpoints">
        <caption>{caption}</caption>
        <thead>
          <tr>{heads.map((head) => <th key={head} scope="col">{head}</th>)}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {note && <p class="faint">{note}</p>}
      {left > 0 && <p class="faint">and {commas(left)} more</p>}
    </div>
  );
}

export function Moment({ store, place }: { store: Store; place: number }) {
  if (place === Infinity) return <>-</>;
  return <button class="rule" onClick={() => store.go(place)}>{moment(store.model.facts.time[place]!)}</button>;
}

export function At({ store, time, id }: { store: Store; time: number; id?: number }) {
  if (time < 0) return <>-</>;
  return <button class="rule" onClick={() => store.go(store.model.checkpoints.placeOf(time, id))}>{moment(time)}</button>;
}
