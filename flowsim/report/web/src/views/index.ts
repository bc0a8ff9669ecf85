/** The views, in the order of their tabs. */

import { channelView } from "./channel";
import { checkpointsView } from "./checkpoints";
import { eventTimeView } from "./event_time";
import { graphView } from "./graph";
import { lawsView } from "./laws";
import { rulesView } from "./rules";
import { startView } from "./start";
import { stateView } from "./state";
import { stepsView } from "./steps";
import { timelineView } from "./timeline";
import type { View } from "./view";

export const VIEWS: readonly View[] = [
  startView, graphView, timelineView, channelView, eventTimeView, stateView, lawsView, stepsView, checkpointsView, rulesView,
];
