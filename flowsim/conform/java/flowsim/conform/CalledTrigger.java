package flowsim.conform;

import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** A trigger in Python: of the user, or one that Flink does not have. */
final class CalledTrigger extends Trigger<Long, Window> {
    private final long object;
    private final boolean merges;

    CalledTrigger(JsonNode given) {
        object = given.get("object").asLong();
        merges = given.get("merges").asBoolean();
    }

    @Override
    public TriggerResult onElement(Long element, long timestamp, Window window, TriggerContext context) {
        return TriggerResult.valueOf(call("on_element", element, timestamp, window, context));
    }

    @Override
    public TriggerResult onProcessingTime(long time, Window window, TriggerContext context) {
        return TriggerResult.valueOf(call("on_processing_time", 0, time, window, context));
    }

    @Override
    public TriggerResult onEventTime(long time, Window window, TriggerContext context) {
        return TriggerResult.valueOf(call("on_event_time", 0, time, window, context));
    }

    @Override
    public boolean canMerge() {
        return merges;
    }

    @Override
    public void onMerge(Window window, OnMergeContext context) {
        call("on_merge", 0, 0, window, context);
    }

    @Override
    public void clear(Window window, TriggerContext context) {
        call("clear", 0, 0, window, context);
    }

    private String call(String what, long record, long time, Window window, TriggerContext context) {
        return Bridge.call(new OfTrigger(context), object, what, record, time, Windows.bounds(window));
    }

    /** The states and timers of one window. */
    private static final class OfTrigger implements Host, TimerService {
        private final TriggerContext context;

        OfTrigger(TriggerContext context) {
            this.context = context;
        }

        @Override
        @SuppressWarnings({"unchecked", "rawtypes"})
        public String state(String scope, String kind, String name, String method, String argument, long functions)
                throws Exception {
            StateDescriptor descriptor = States.descriptor(kind, name, functions);
            if (method.equals("merge")) {
                ((OnMergeContext) context).mergePartitionedState(descriptor);
                return "";
            }
            return States.ofAny(context.getPartitionedState(descriptor), method, argument);
        }

        @Override
        public TimerService timers() {
            return this;
        }

        @Override
        public long currentProcessingTime() {
            return context.getCurrentProcessingTime();
        }

        @Override
        public long currentWatermark() {
            return context.getCurrentWatermark();
        }

        @Override
        public void registerProcessingTimeTimer(long time) {
            context.registerProcessingTimeTimer(time);
        }

        @Override
        public void registerEventTimeTimer(long time) {
            context.registerEventTimeTimer(time);
        }

        @Override
        public void deleteProcessingTimeTimer(long time) {
            context.deleteProcessingTimeTimer(time);
        }

        @Override
        public void deleteEventTimeTimer(long time) {
            context.deleteEventTimeTimer(time);
        }
    }
}
