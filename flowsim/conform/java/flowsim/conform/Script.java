package flowsim.conform;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/**
 * What one source subtask plays, and where it is: entries {@code [due, kind, ...]} with the nanoseconds since its start before
 * which they wait (-1: they follow at once), {@code r} number timestamp split, {@code w} timestamp split, {@code i} split,
 * {@code sleep} ns, {@code begin} split, {@code end} split. A split without {@code begin} is there from the beginning.
 */
final class Script implements Serializable {
    static final ObjectMapper JSON = new ObjectMapper();

    private static final Set<String> ENDED = ConcurrentHashMap.newKeySet();

    final int node;
    final int subtask;
    final JsonNode[] entries;
    int at;
    Long previous;
    long startedNanos;
    long wakeNanos = -1;
    /** Records that this attempt has emitted. */
    long emitted;

    Script(int node, int subtask, JsonNode entries) {
        this.node = node;
        this.subtask = subtask;
        this.entries = new JsonNode[entries.size()];
        for (int index = 0; index < this.entries.length; index++) {
            this.entries[index] = entries.get(index);
        }
    }

    static JsonNode parsed(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e);
        }
    }

    static void reset() {
        ENDED.clear();
    }

    /** How many subtasks of sources have reached their end. */
    static int ended() {
        return ENDED.size();
    }

    void end() {
        ENDED.add(node + "/" + subtask);
    }

    void start() {
        ENDED.remove(node + "/" + subtask);
        startedNanos = ManualTime.instant();
    }

    /** The position as text, with the time since the start. */
    String position() {
        long now = ManualTime.instant();
        return subtask + "," + at + "," + (previous == null ? "-" : previous) + "," + (now - startedNanos) + ","
                + (wakeNanos < 0 ? "-" : wakeNanos - now);
    }

    void restore(String position) {
        String[] parts = position.split(",");
        long now = ManualTime.instant();
        at = Integer.parseInt(parts[1]);
        previous = parts[2].equals("-") ? null : Long.valueOf(parts[2]);
        startedNanos = now - Long.parseLong(parts[3]);
        ENDED.remove(node + "/" + subtask);
        wakeNanos = parts[4].equals("-") ? -1 : now + Long.parseLong(parts[4]);
    }

    boolean isOver() {
        return at >= entries.length;
    }

    JsonNode entry() {
        return entries[at];
    }

    /** Whether the last entry that was played, but for pauses, was idleness. */
    boolean isIdle() {
        int last = at - 1;
        while (last >= 0 && entries[last].get(1).asText().equals("sleep")) {
            last--;
        }
        return last >= 0 && !isOver() && entries[last].get(1).asText().equals("i");
    }

    /** The time at which the next entry, or the end, is due, when it has not come; -1: now. */
    long waitsUntil() {
        long due = wakeNanos;
        if (!isOver() && entry().get(0).asLong() >= 0) {
            due = Math.max(due, startedNanos + entry().get(0).asLong());
        }
        if (due > ManualTime.nowNanos()) {
            return due;
        }
        wakeNanos = -1;
        return -1;
    }

    static String split(JsonNode entry) {
        JsonNode last = entry.get(entry.size() - 1);
        return last.isTextual() && entry.size() > 2 ? last.asText() : null;
    }

    /** All splits that the entries name, in order. */
    List<String> splits() {
        Map<String, Boolean> found = new LinkedHashMap<>();
        for (JsonNode entry : entries) {
            if (split(entry) != null) {
                found.put(split(entry), true);
            }
        }
        return new ArrayList<>(found.keySet());
    }

    /** Whether an entry says when this split begins. */
    boolean begins(String split) {
        for (JsonNode entry : entries) {
            if (entry.get(1).asText().equals("begin") && split.equals(split(entry))) {
                return true;
            }
        }
        return false;
    }
}
