package flowsim.jobs.checkpointed;

import java.util.Collections;
import java.util.HashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;

/** Completes when the step has come that answers the record; what was stored and has been answered, at once. */
final class Answers extends RichAsyncFunction<Tuple4<Integer, String, Long, long[]>, String> {
    private static final ScheduledExecutorService TIMER =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread thread = new Thread(work);
                        thread.setDaemon(true);
                        return thread;
                    });

    private final HashMap<Integer, Integer> steps = new HashMap<>();

    Answers(JsonNode scripts) {
        for (JsonNode script : scripts) {
            for (JsonNode subtask : script) {
                for (JsonNode entry : subtask) {
                    if (entry.get(1).asText().equals("answer")) {
                        steps.put(entry.get(2).asInt(), entry.get(0).asInt());
                    }
                }
            }
        }
    }

    @Override
    public void asyncInvoke(Tuple4<Integer, String, Long, long[]> event, ResultFuture<String> result) {
        TaskInfo task = getRuntimeContext().getTaskInfo();
        Board.note("invoke", task, event.f0);
        Board.ARRIVED.incrementAndGet();
        awaitAnswer(Board.attempt(task), event, result);
    }

    /** Before the source has started, the step may be the one of the failed attempt. */
    private void awaitAnswer(
            String attempt, Tuple4<Integer, String, Long, long[]> event, ResultFuture<String> result) {
        boolean hasStarted = Board.count("source", attempt).get() > 0;
        if (hasStarted && Board.STEP.get() > steps.get(event.f0)) {
            result.complete(Collections.singleton(Board.text("a", event.f1, event.f0)));
        } else {
            TIMER.schedule(() -> awaitAnswer(attempt, event, result), 1, TimeUnit.MILLISECONDS);
        }
    }
}
