package flowsim.jobs.described;

import flowsim.jobs.Log;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;

/**
 * Answers every call as the description says: {@code replies} are pairs of nanoseconds (0: within the call) and 0 one
 * result, 1 none, 2 two results, 3 an error or 4 no answer at all. Number and attempt choose among them.
 */
final class ScriptedCalls
        extends RichAsyncFunction<Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>> {
    private static final ScheduledExecutorService WALL_CLOCK =
            Executors.newScheduledThreadPool(
                    1,
                    runnable -> {
                        Thread thread = new Thread(runnable, "answers");
                        thread.setDaemon(true);
                        return thread;
                    });

    private final String stage;
    private final int number;
    private final boolean manual;
    private transient JsonNode replies;
    private transient long salt;
    private transient String onTimeout;
    private transient Map<ResultFuture<?>, Integer> attempts;

    ScriptedCalls(JsonNode stage, int number, boolean manual) {
        this.stage = stage.toString();
        this.number = number;
        this.manual = manual;
    }

    @Override
    public void open(OpenContext context) throws IOException {
        JsonNode given = Event.JSON.readTree(stage);
        replies = given.get("replies");
        salt = given.get("salt").asLong();
        onTimeout = given.get("on_timeout").asText();
        attempts = new WeakHashMap<>();
    }

    private void note(Object... call) {
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        Log.add("calls" + number + "/" + subtask, Event.text(call));
    }

    @Override
    public void asyncInvoke(
            Tuple4<Integer, String, Long, long[]> event, ResultFuture<Tuple4<Integer, String, Long, long[]>> future) {
        int attempt = attempts.merge(future, 1, Integer::sum);
        note("invoke", event.f0, attempt);
        if (attempt > 1) {
            ManualTime.retried();
        }
        JsonNode reply = replies.get((int) Math.floorMod(event.f0 * 7L + attempt * 13L + salt, (long) replies.size()));
        long nanos = reply.get(0).asLong();
        int kind = reply.get(1).asInt();
        Runnable answer =
                () -> {
                    if (kind == 3) {
                        future.completeExceptionally(new IllegalStateException("no answer to " + event.f0));
                    } else if (kind < 3) {
                        future.complete(results(event, kind, attempt));
                    }
                };
        if (nanos == 0) {
            answer.run();
        } else if (manual) {
            ManualTime.after(nanos, answer);
        } else {
            WALL_CLOCK.schedule(answer, nanos, TimeUnit.NANOSECONDS);
        }
    }

    private static List<Tuple4<Integer, String, Long, long[]>> results(
            Tuple4<Integer, String, Long, long[]> event, int kind, int attempt) {
        Tuple4<Integer, String, Long, long[]> first = Tuple4.of(event.f0, event.f1, event.f2 * 10 + attempt, event.f3);
        switch (kind) {
            case 0:
                return List.of(first);
            case 1:
                return List.of();
            default:
                return List.of(first, Tuple4.of(event.f0 + 2000, event.f1, event.f2, event.f3));
        }
    }

    @Override
    public void timeout(
            Tuple4<Integer, String, Long, long[]> event, ResultFuture<Tuple4<Integer, String, Long, long[]>> future)
            throws Exception {
        note("timeout", event.f0, 0);
        switch (onTimeout) {
            case "fail":
                super.timeout(event, future);
                break;
            case "drop":
                future.complete(Collections.emptyList());
                break;
            case "replace":
                future.complete(List.of(Tuple4.of(event.f0, event.f1, -event.f2 - 1, event.f3)));
                break;
            case "nothing":
                break;
            default:
                throw new IllegalArgumentException(onTimeout);
        }
    }
}
