package flowsim.jobs.described;

import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/**
 * Plays a script per subtask: {@code [step, "r", number, key, value, timestamp or null, orders, null]}, {@code [step, "w",
 * timestamp, null]}, {@code [step, "i", null]} and {@code [step, "end"]}. A step of 0 or more waits until it is granted, a
 * negative one does not wait.
 */
final class Script extends RichParallelSourceFunction<Tuple4<Integer, String, Long, long[]>> {
    private final String scripts;
    private volatile boolean running = true;
    private int ending = -1;

    Script(JsonNode scripts) {
        this.scripts = scripts.toString();
    }

    @Override
    public void run(SourceContext<Tuple4<Integer, String, Long, long[]>> context) throws Exception {
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        for (JsonNode entry : Event.JSON.readTree(scripts).get(subtask)) {
            int step = entry.get(0).asInt();
            if (step >= 0) {
                Steps.awaitGrant(step);
            }
            if (!running || Steps.isAbandoned()) {
                return;
            }
            if (entry.get(1).asText().equals("end")) {
                ending = step;
                return;
            }
            synchronized (context.getCheckpointLock()) {
                play(entry, context);
            }
            if (step >= 0) {
                Steps.performed(step);
            }
        }
    }

    private static void play(JsonNode entry, SourceContext<Tuple4<Integer, String, Long, long[]>> context) {
        switch (entry.get(1).asText()) {
            case "r":
                Tuple4<Integer, String, Long, long[]> event =
                        Event.of(entry.get(2), entry.get(3), entry.get(4), entry.get(6));
                if (entry.get(5).isNull()) {
                    context.collect(event);
                } else {
                    context.collectWithTimestamp(event, entry.get(5).asLong());
                }
                break;
            case "w":
                context.emitWatermark(new Watermark(entry.get(2).asLong()));
                break;
            case "i":
                context.markAsTemporarilyIdle();
                break;
            default:
                throw new IllegalArgumentException(entry.toString());
        }
    }

    @Override
    public void cancel() {
        running = false;
        Steps.abandon();
    }

    /** By now the task has emitted its last watermark and the end of its data. */
    @Override
    public void close() {
        if (ending >= 0) {
            Steps.performed(ending);
        }
    }
}
