package flowsim.jobs.described;

import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** Answers everything that a trigger can answer, as the values of the records say, and purges at the end of the window. */
final class OwnTrigger extends Trigger<Tuple4<Integer, String, Long, long[]>, Window> {
    @Override
    public TriggerResult onElement(
            Tuple4<Integer, String, Long, long[]> event, long timestamp, Window window, TriggerContext context) {
        if (window.maxTimestamp() <= context.getCurrentWatermark()) {
            return TriggerResult.FIRE;
        }
        context.registerEventTimeTimer(window.maxTimestamp());
        switch ((int) Math.floorMod(event.f2, 8L)) {
            case 0:
                return TriggerResult.FIRE;
            case 1:
                return TriggerResult.PURGE;
            case 2:
                return TriggerResult.FIRE_AND_PURGE;
            case 3:
                context.registerEventTimeTimer(timestamp + 2);
                return TriggerResult.CONTINUE;
            default:
                return TriggerResult.CONTINUE;
        }
    }

    @Override
    public TriggerResult onProcessingTime(long time, Window window, TriggerContext context) {
        return TriggerResult.CONTINUE;
    }

    @Override
    public TriggerResult onEventTime(long time, Window window, TriggerContext context) {
        return time == window.maxTimestamp() ? TriggerResult.FIRE_AND_PURGE : TriggerResult.FIRE;
    }

    @Override
    public boolean canMerge() {
        return true;
    }

    @Override
    public void onMerge(Window window, OnMergeContext context) {
        if (window.maxTimestamp() > context.getCurrentWatermark()) {
            context.registerEventTimeTimer(window.maxTimestamp());
        }
    }

    @Override
    public void clear(Window window, TriggerContext context) {
        context.deleteEventTimeTimer(window.maxTimestamp());
    }
}
