package org.apache.flink.streaming.api.operators.async;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.async.AsyncFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.types.LongValue;
import org.apache.flink.util.WrappingRuntimeException;

/** An asynchronous function that does what a script says at each call and timeout, and keeps what it could answer later. */
final class Calls implements AsyncFunction<LongValue, Long> {
    private final JsonNode plans;
    private final JsonNode timeouts;
    private final List<String> log;
    private final List<ResultFuture<Long>> futures = new ArrayList<>();
    private final List<ResultFuture<Long>> unanswered = new ArrayList<>();
    private int timedOut;

    Calls(JsonNode script, List<String> log) {
        plans = script.get("plans");
        timeouts = script.get("timeouts");
        this.log = log;
    }

    /** An exception that says what happened; told apart from those of Flink. */
    static final class Said extends RuntimeException {
        Said(String message) {
            super(message);
        }
    }

    @Override
    public void asyncInvoke(LongValue value, ResultFuture<Long> future) {
        log.add("invoke " + value.getValue());
        futures.add(future);
        unanswered.add(future);
        act(future, plans.get((futures.size() - 1) % plans.size()));
    }

    @Override
    public void timeout(LongValue value, ResultFuture<Long> future) throws Exception {
        log.add("timeout " + value.getValue());
        JsonNode plan = timeouts.get(timedOut++ % timeouts.size());
        if ("default".equals(plan.get(0).asText())) {
            AsyncFunction.super.timeout(value, future);
        } else {
            act(future, plan);
        }
    }

    /** Answers one that was not answered yet, 0 the oldest. */
    void answer(int number, JsonNode action) {
        if (!unanswered.isEmpty()) {
            act(unanswered.remove(number % unanswered.size()), action);
        }
    }

    /** Answers one of the last calls, answered or not, 0 the last one. */
    void answerAgain(int back, JsonNode action) {
        if (!futures.isEmpty()) {
            act(futures.get(futures.size() - 1 - back % Math.min(futures.size(), 8)), action);
        }
    }

    private void act(ResultFuture<Long> future, JsonNode action) {
        if ("throw".equals(action.get(0).asText())) {
            throw new Said(action.get(1).asText());
        }
        try {
            tell(future, action);
        } catch (Exception refused) {
            log.add("refused: " + named(refused));
        }
    }

    private void tell(ResultFuture<Long> future, JsonNode action) {
        switch (action.get(0).asText()) {
            case "ok":
                for (int i = 1; i < action.size(); i++) {
                    future.complete(list(action.get(i)));
                }
                return;
            case "null":
                future.complete((Collection<Long>) null);
                return;
            case "error":
                future.completeExceptionally(new Said(action.get(1).asText()));
                return;
            case "supply":
                future.complete(() -> list(action.get(1)));
                return;
            case "supply_null":
                future.complete(() -> null);
                return;
            case "supply_error":
                future.complete(
                        () -> {
                            throw new Said(action.get(1).asText());
                        });
                return;
            default:
        }
    }

    private static List<Long> list(JsonNode values) {
        List<Long> list = new ArrayList<>();
        values.forEach(value -> list.add(value.asLong()));
        return list;
    }

    /** Of results: 7 asks for a retry, 13 is bad luck. */
    boolean asksForResults(Collection<Long> results) {
        log.add("asks " + results);
        if (results.contains(13L)) {
            throw new Said("bad luck");
        }
        return results.contains(7L);
    }

    boolean asksForError(Throwable error) {
        log.add("asks " + named(error));
        if ("13".equals(error.getMessage())) {
            throw new Said("bad luck");
        }
        return "again".equals(error.getMessage());
    }

    static String named(Throwable thrown) {
        Throwable cause = thrown;
        while (cause instanceof WrappingRuntimeException) {
            cause = cause.getCause();
        }
        return cause instanceof Said ? cause.getMessage() : cause.getClass().getSimpleName();
    }
}
