package org.apache.flink.runtime.checkpoint;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointCoordinator.CheckpointTriggerRequest;
import org.apache.flink.util.clock.ManualClock;

/** The real CheckpointRequestDecider; what surrounds it is scripted. */
public final class RequestDeciders {
    private final List<CheckpointTriggerRequest> requests = new ArrayList<>();
    private final List<String> events = new ArrayList<>();
    private final CheckpointRequestDecider decider;
    private ManualClock clock = new ManualClock();
    private int pending;
    private int cleaning;

    /** The answers to a script: "concurrent pause queued", then a command per line. */
    public static String run(String script) throws Exception {
        String[] lines = script.split("\n");
        RequestDeciders deciders = new RequestDeciders(numbers(lines[0]));
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            String[] words = lines[i].split(" ", 2);
            answers.add(deciders.execute(words[0], numbers(words[1])));
        }
        return answers.toString();
    }

    private static long[] numbers(String text) {
        String[] words = text.split(" ");
        long[] numbers = new long[words.length];
        for (int i = 0; i < words.length; i++) {
            numbers[i] = Long.parseLong(words[i]);
        }
        return numbers;
    }

    private RequestDeciders(long[] n) {
        decider =
                new CheckpointRequestDecider(
                        (int) n[0],
                        (now, delay) -> events.add("reschedule " + now + " " + delay),
                        clock,
                        n[1],
                        () -> pending,
                        () -> cleaning,
                        (int) n[2]);
    }

    /** Triggering, time that passes, last completion, pending, cleaning; kind and time stamp of a request. */
    private String execute(String name, long[] n) throws Exception {
        events.clear();
        clock.advanceTime(n[1], TimeUnit.MILLISECONDS);
        pending = (int) n[3];
        cleaning = (int) n[4];
        Optional<CheckpointTriggerRequest> chosen = Optional.empty();
        switch (name) {
            case "request":
                chosen = decider.chooseRequestToExecute(request(n[5], n[6]), n[0] == 1, n[2]);
                break;
            case "queued":
                chosen = decider.chooseQueuedRequestToExecute(n[0] == 1, n[2]);
                break;
            default:
                decider.abortAll(new CheckpointException(CheckpointFailureReason.CHECKPOINT_COORDINATOR_SUSPEND));
        }
        String number = chosen.map(request -> "" + requests.indexOf(request)).orElse("none");
        return number + " " + decider.getNumQueuedRequests() + " " + String.join("; ", events);
    }

    private CheckpointTriggerRequest request(long kind, long timestamp) throws Exception {
        CheckpointProperties properties =
                kind < 2
                        ? CheckpointProperties.forCheckpoint(CheckpointRetentionPolicy.RETAIN_ON_FAILURE)
                        : CheckpointProperties.forSavepoint(kind == 3, SavepointFormatType.CANONICAL);
        CheckpointTriggerRequest request = new CheckpointTriggerRequest(properties, null, kind == 1);
        Field field = CheckpointTriggerRequest.class.getDeclaredField("timestamp");
        field.setAccessible(true);
        field.set(request, timestamp);
        int number = requests.size();
        requests.add(request);
        request.getOnCompletionFuture()
                .whenComplete(
                        (checkpoint, error) ->
                                events.add(
                                        "rejected "
                                                + number
                                                + " "
                                                + ((CheckpointException) error).getCheckpointFailureReason()));
        return request;
    }
}
