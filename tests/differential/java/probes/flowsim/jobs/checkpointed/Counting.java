package flowsim.jobs.checkpointed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Counts and sums per key; registers (1) and deletes (2) event-time timers; keeps the numbers of its records as list state,
 * how many they are as union list state, and the checkpoint id as broadcast state.
 */
final class Counting extends KeyedProcessFunction<Object, Tuple4<Integer, String, Long, long[]>, String>
        implements CheckpointedFunction {
    private final Set<Integer> failures = new HashSet<>();
    private final long failingSnapshot;
    private final List<Integer> seen = new ArrayList<>();
    private transient ValueState<Tuple2<Long, Long>> total;
    private transient ListState<Integer> split;
    private transient ListState<Tuple2<Integer, Integer>> union;
    private transient BroadcastState<String, Long> broadcast;

    Counting(JsonNode parameters) {
        parameters.path("fail_ids").forEach(number -> failures.add(number.asInt()));
        failingSnapshot = parameters.path("snapshot_error").asLong(-1);
    }

    private TaskInfo task() {
        return getRuntimeContext().getTaskInfo();
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        split = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("seen", Types.INT));
        union =
                context.getOperatorStateStore()
                        .getUnionListState(new ListStateDescriptor<>("count", Types.TUPLE(Types.INT, Types.INT)));
        broadcast =
                context.getOperatorStateStore()
                        .getBroadcastState(new MapStateDescriptor<>("bc", Types.STRING, Types.LONG));
        if (!context.isRestored()) {
            return;
        }
        split.get().forEach(seen::add);
        List<Object> counts = new ArrayList<>();
        union.get().forEach(count -> counts.add(Arrays.asList(count.f0, count.f1)));
        boolean isRestored = context.getRestoredCheckpointId().isPresent();
        Board.note("restore", task(), isRestored, seen, counts, broadcast.get("id"));
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        long id = context.getCheckpointId();
        if (id == failingSnapshot && Board.fires("snapshot" + id)) {
            throw new IllegalStateException("scripted snapshot failure");
        }
        split.update(seen);
        union.update(Collections.singletonList(Tuple2.of(task().getIndexOfThisSubtask(), seen.size())));
        broadcast.put("id", id);
    }

    @Override
    public void open(OpenContext context) {
        total = getRuntimeContext().getState(new ValueStateDescriptor<>("v", Types.TUPLE(Types.LONG, Types.LONG)));
        Board.count("open", Board.attempt(task())).incrementAndGet();
    }

    @Override
    public void processElement(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out)
            throws Exception {
        Board.awaitRelease();
        if (failures.contains(event.f0) && Board.fires("number" + event.f0)) {
            throw new IllegalStateException("scripted failure at " + event.f0);
        }
        Tuple2<Long, Long> before = total.value() == null ? Tuple2.of(0L, 0L) : total.value();
        Tuple2<Long, Long> after = Tuple2.of(before.f0 + 1, before.f1 + event.f2);
        total.update(after);
        seen.add(event.f0);
        for (int i = 0; i + 1 < event.f3.length; i += 2) {
            if (event.f3[i] == 1) {
                context.timerService().registerEventTimeTimer(event.f3[i + 1]);
            } else {
                context.timerService().deleteEventTimeTimer(event.f3[i + 1]);
            }
        }
        long now = context.timerService().currentWatermark();
        out.collect(Board.text("e", event.f1, event.f0, after.f0, after.f1, now));
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) throws Exception {
        long count = total.value() == null ? 0 : total.value().f0;
        out.collect(Board.text("t", context.getCurrentKey(), timestamp, count));
    }
}
