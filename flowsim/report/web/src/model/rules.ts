/** The rules of Flink, as docs/flink_rules.md states them: flowsim/report/rules.py. */

export interface RuleOfFlink {
  number: string;
  /** As Markdown. */
  text: string;
  /** The classes that do what it says. */
  flink: string[];
}

/** A section of the page. */
export interface RulesOfSection {
  number: string;
  title: string;
  rules: RuleOfFlink[];
}

/** Markdown without links and emphasis; code keeps its backticks. */
export function plainText(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replace(/\*(\S(?:[^*]*\S)?)\*/g, "$1");
}

export class Rules {
  private known: Map<string, [RulesOfSection, RuleOfFlink]> | null = null;

  constructor(private readonly read: () => readonly RulesOfSection[]) {}

  get sections(): readonly RulesOfSection[] {
    return this.read();
  }

  /** A rule with its section. */
  of(number: string): [RulesOfSection, RuleOfFlink] | undefined {
    this.known ??= new Map(this.sections.flatMap((section) => section.rules.map((rule) => [rule.number, [section, rule]])));
    return this.known.get(number);
  }
}
