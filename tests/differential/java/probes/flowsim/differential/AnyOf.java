package flowsim.differential;

import java.util.List;
import org.apache.flink.api.common.state.MergingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.triggers.TriggerResult;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** Fires if one of its parts fires, as a user would write it: Flink has no such trigger. */
@SuppressWarnings({"unchecked", "rawtypes"})
public final class AnyOf extends Trigger<Object, Window> {
    private final List<Trigger> parts;
    private final boolean sharesStates;

    /**
     * @param sharesStates whether the parts use the names of their states as they are, so that two counts are one
     */
    public AnyOf(List<Trigger> parts, boolean sharesStates) {
        this.parts = parts;
        this.sharesStates = sharesStates;
    }

    @Override
    public TriggerResult onElement(Object element, long timestamp, Window window, TriggerContext ctx) throws Exception {
        return combined((part, own) -> part.onElement(element, timestamp, window, own), ctx);
    }

    @Override
    public TriggerResult onEventTime(long time, Window window, TriggerContext ctx) throws Exception {
        return combined((part, own) -> part.onEventTime(time, window, own), ctx);
    }

    @Override
    public TriggerResult onProcessingTime(long time, Window window, TriggerContext ctx) throws Exception {
        return combined((part, own) -> part.onProcessingTime(time, window, own), ctx);
    }

    @Override
    public boolean canMerge() {
        return parts.stream().allMatch(Trigger::canMerge);
    }

    @Override
    public void onMerge(Window window, OnMergeContext ctx) throws Exception {
        for (int index = 0; index < parts.size(); index++) {
            parts.get(index).onMerge(window, (OnMergeContext) own(index, ctx));
        }
    }

    @Override
    public void clear(Window window, TriggerContext ctx) throws Exception {
        for (int index = 0; index < parts.size(); index++) {
            parts.get(index).clear(window, own(index, ctx));
        }
    }

    private TriggerResult combined(Call call, TriggerContext ctx) throws Exception {
        boolean fires = false;
        boolean purges = false;
        for (int index = 0; index < parts.size(); index++) {
            TriggerResult result = call.of(parts.get(index), own(index, ctx));
            fires |= result.isFire();
            purges |= result.isPurge();
        }
        if (fires) {
            return purges ? TriggerResult.FIRE_AND_PURGE : TriggerResult.FIRE;
        }
        return purges ? TriggerResult.PURGE : TriggerResult.CONTINUE;
    }

    private TriggerContext own(int index, TriggerContext ctx) {
        return sharesStates ? ctx : new Own(index, ctx);
    }

    private interface Call {
        TriggerResult of(Trigger part, TriggerContext ctx) throws Exception;
    }

    /** The context of one part, in which the names of states begin with its index. */
    private static final class Own implements OnMergeContext {
        private final int index;
        private final TriggerContext ctx;

        private Own(int index, TriggerContext ctx) {
            this.index = index;
            this.ctx = ctx;
        }

        private <S extends State> StateDescriptor<S, ?> named(StateDescriptor<S, ?> given) {
            String name = index + "/" + given.getName();
            if (given instanceof ReducingStateDescriptor) {
                ReducingStateDescriptor reducing = (ReducingStateDescriptor) given;
                return (StateDescriptor)
                        new ReducingStateDescriptor(name, reducing.getReduceFunction(), given.getSerializer());
            }
            return (StateDescriptor) new ValueStateDescriptor(name, given.getSerializer());
        }

        @Override
        public <S extends State> S getPartitionedState(StateDescriptor<S, ?> descriptor) {
            return ctx.getPartitionedState(named(descriptor));
        }

        @Override
        public <S extends MergingState<?, ?>> void mergePartitionedState(StateDescriptor<S, ?> descriptor) {
            ((OnMergeContext) ctx).mergePartitionedState(named(descriptor));
        }

        @Override
        public long getCurrentProcessingTime() {
            return ctx.getCurrentProcessingTime();
        }

        @Override
        public MetricGroup getMetricGroup() {
            return ctx.getMetricGroup();
        }

        @Override
        public long getCurrentWatermark() {
            return ctx.getCurrentWatermark();
        }

        @Override
        public void registerProcessingTimeTimer(long time) {
            ctx.registerProcessingTimeTimer(time);
        }

        @Override
        public void registerEventTimeTimer(long time) {
            ctx.registerEventTimeTimer(time);
        }

        @Override
        public void deleteProcessingTimeTimer(long time) {
            ctx.deleteProcessingTimeTimer(time);
        }

        @Override
        public void deleteEventTimeTimer(long time) {
            ctx.deleteEventTimeTimer(time);
        }
    }
}
