package flowsim.conform;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The failures of one subtask in one attempt: before a record, in a snapshot, or at a notification. */
final class Failures {
    private static volatile JsonNode all;
    private final List<JsonNode> own = new ArrayList<>();

    private Failures() {}

    static void set(JsonNode failures) {
        all = failures;
    }

    static Failures of(int node, int subtask, int attempt) {
        Failures failures = new Failures();
        for (JsonNode failure : all) {
            if (failure.get("node").asInt() == node
                    && failure.get("subtask").asInt() == subtask
                    && failure.get("attempt").asInt() == attempt) {
                failures.own.add(failure);
            }
        }
        return failures;
    }

    boolean isEmpty() {
        return own.isEmpty();
    }

    void beforeRecord(long record) {
        failAt("at_record", record);
    }

    void inSnapshot(long checkpoint) {
        failAt("in_snapshot", checkpoint);
    }

    void inNotification(long checkpoint) {
        failAt("in_notification", checkpoint);
    }

    private void failAt(String place, long number) {
        for (JsonNode failure : own) {
            if (failure.hasNonNull(place) && failure.get(place).asLong() == number) {
                throw new IllegalStateException(failure.get("message").asText());
            }
        }
    }
}
