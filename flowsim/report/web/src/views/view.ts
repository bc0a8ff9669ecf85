/** What a view is. One file per view; ``index.ts`` registers it. */

import type { ComponentType } from "preact";
import type { Store } from "../store";

export interface View {
  /** Its name in links: never changes. */
  readonly name: string;
  readonly title: string;
  /** The key that opens it. */
  readonly key: string;
  /** Why it has nothing to show for this recording, and what to do; null if it has something. */
  missing(store: Store): string | null;
  /** Whether it has no tab for this recording; by default it has one. A link that names the view adds the tab. */
  isAbsent?(store: Store): boolean;
  readonly Component: ComponentType<{ store: Store }>;
}
