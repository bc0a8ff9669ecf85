/** The views, in the order of their tabs. */

import { graphView } from "./graph";
import type { View } from "./view";

export const VIEWS: readonly View[] = [graphView];
