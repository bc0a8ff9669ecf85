/** Everything that the views read: facts, names, attempts, states, channels, checkpoints, sentences, event time. */

import { Attempts } from "./attempts";
import { Causes } from "./causes";
import { Channels, type ChannelState } from "./channels";
import { Checkpoints } from "./checkpoints";
import { EventTimes } from "./event_time";
import { Facts } from "./facts";
import type { Head } from "./head";
import { InFlight } from "./in_flight";
import { KeyStates } from "./key_state";
import { Names } from "./names";
import { Rules } from "./rules";
import { Sentences, type Sentence } from "./sentences";
import { TaskStates, type State } from "./states";
import { Timeline } from "./timeline";

/** The model at one step, as tests and consoles read it. */
export interface Snapshot {
  step: number;
  timeNs: number;
  task: number;
  table: string;
  sentence: Sentence;
  states: Record<number, State | null>;
  channels: ChannelState[];
}

export class Model {
  readonly names: Names;
  readonly attempts: Attempts;
  readonly states: TaskStates;
  readonly channels: Channels;
  readonly checkpoints: Checkpoints;
  readonly inFlight: InFlight;
  readonly sentences: Sentences;
  readonly eventTimes: EventTimes;
  readonly keyStates: KeyStates;
  readonly lateCauses: Causes;
  /** Why records behind the watermark were not late. */
  readonly arrivalCauses: Causes;
  readonly timeline: Timeline;
  readonly rules: Rules;

  private constructor(
    readonly head: Head,
    readonly facts: Facts,
  ) {
    this.rules = new Rules(facts.rules);
    this.names = new Names(head, facts.keys, facts.records);
    this.attempts = new Attempts(facts);
    this.states = new TaskStates(facts, this.names.tasks.keys(), this.attempts);
    this.channels = new Channels(facts, this.names, this.attempts);
    this.checkpoints = new Checkpoints(facts, this.names, this.channels, this.attempts, head);
    this.inFlight = new InFlight(facts, this.names, this.channels, this.attempts, this.checkpoints);
    this.timeline = new Timeline(facts, this.attempts, this.checkpoints);
    this.sentences = new Sentences(facts, this.names, head.wording, (place) => this.states.depthAt(place));
    this.eventTimes = new EventTimes(facts, this.names, head.recording.start_ns, this.attempts);
    this.keyStates = new KeyStates(facts, this.names, this.eventTimes, this.attempts);
    this.lateCauses = new Causes(facts, this.names, "late_drop");
    this.arrivalCauses = new Causes(facts, this.names, "window_intake");
  }

  static async read(head: Head, body: string): Promise<Model> {
    return new Model(head, await Facts.read(head, body));
  }

  /** Whether the run recorded buffers, credits and actions. */
  get isFull(): boolean {
    return this.head.recording.level === "full";
  }

  /** Whether the run recorded the changes of keyed state. */
  get hasState(): boolean {
    return this.head.recording.settings.record_state === true;
  }

  /** What the recording shows of a window or timer that did not fire: a run that broke off might have fired it. */
  get unfired(): string {
    return this.head.recording.status === "complete" ? "does not fire" : "has not fired at the end of the recording";
  }

  at(step: number): Snapshot {
    const place = this.facts.placeOfStep(step);
    const tasks = [...this.names.tasks.keys()];
    return {
      step: this.facts.step[place]!,
      timeNs: this.facts.time[place]!,
      task: this.facts.task[place]!,
      table: this.facts.nameAt(place),
      sentence: this.sentences.at(place),
      states: Object.fromEntries(tasks.map((task) => [task, this.states.at(task, place)])),
      channels: [...this.names.channels.keys()].map((channel) => this.channels.of(channel).at(place)),
    };
  }
}
