/** Two recordings side by side: one cursor, one part in view, one selection. */

import { effect, type Signal } from "@preact/signals";
import type { Selection, Store } from "./store";

/** ``difference``: the first step at which the facts differ; null: all are equal. */
export function link(one: Store, other: Store, difference: number | null): void {
  mirror(one.view, other.view, (view) => (other.view.value = view), (view) => (one.view.value = view));
  mirror(one.rule, other.rule, (rule) => (other.rule.value = rule), (rule) => (one.rule.value = rule));
  mirror(one.scale, other.scale, (scale) => other.setScale(scale), (scale) => one.setScale(scale));
  mirror(one.range, other.range, (range) => other.setRange(range), (range) => one.setRange(range));
  mirror(
    one.selection, other.selection,
    (to) => (other.selection.value = withKeyOf(one, other, to)),
    (to) => (one.selection.value = withKeyOf(other, one, to)),
  );
  mirror(one.cutsGaps, other.cutsGaps, (to) => (other.cutsGaps.value = to), (to) => (one.cutsGaps.value = to));
  mirror(one.eventScale, other.eventScale, (to) => (other.eventScale.value = to), (to) => (one.eventScale.value = to));
  mirror(one.playing, other.playing, (to) => (other.playing.value = to), (to) => (one.playing.value = to));
  mirror(
    one.place, other.place,
    (place) => (other.place.value = matching(one, other, place, difference)),
    (place) => (one.place.value = matching(other, one, place, difference)),
  );
}

/** The same key, which each recording numbers by its first use; null if the other has no such key. */
function withKeyOf(from: Store, to: Store, selection: Selection): Selection {
  const { key } = selection;
  return key ? { ...selection, key: to.model.names.numberOfKey(from.model.names.key(key)) } : selection;
}

/** The place of the same step before the first difference; after it, of the same time. */
export function matching(from: Store, to: Store, place: number, difference: number | null): number {
  const { facts } = to.model;
  const step = from.model.facts.step[place] ?? 0;
  if (difference === null || step <= difference) return to.within(facts.placeOfStep(step));
  return to.within(Math.max(facts.placeOfStep(difference), facts.placeAt(from.model.facts.time[place] ?? 0)));
}

/** Each signal changes the other. A change that came from the other does not go back, even if it was limited there. */
function mirror<T>(one: Signal<T>, other: Signal<T>, toOther: (value: T) => void, toOne: (value: T) => void): void {
  let known: T | undefined;
  let knownOther: T | undefined;
  effect(() => {
    const { value } = one;
    if (value === known) return;
    known = value;
    toOther(value);
    knownOther = other.peek();
  });
  effect(() => {
    const { value } = other;
    if (value === knownOther) return;
    knownOther = value;
    toOne(value);
    known = one.peek();
  });
}
