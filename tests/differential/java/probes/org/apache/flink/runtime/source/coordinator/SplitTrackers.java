package org.apache.flink.runtime.source.coordinator;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** The real SplitAssignmentTracker under a script of JSON commands; the first entry of the script is empty. */
public final class SplitTrackers {
    private static final ObjectMapper JSON = new ObjectMapper();

    private SplitTrackers() {}

    public static String run(String text) throws Exception {
        JsonNode script = JSON.readTree(text);
        SplitAssignmentTracker<NumberSequenceSplit> tracker = new SplitAssignmentTracker<>();
        List<Object> answers = new ArrayList<>();
        for (int i = 1; i < script.size(); i++) {
            JsonNode c = script.get(i);
            Map<String, Object> answer = new TreeMap<>();
            answer.put("ret", null);
            switch (c.get(0).asText()) {
                case "assign":
                    tracker.recordSplitAssignment(new SplitsAssignment<>(assignment(c.get(1))));
                    break;
                case "checkpoint":
                    tracker.onCheckpoint(c.get(1).asLong());
                    break;
                case "complete":
                    tracker.onCheckpointComplete(c.get(1).asLong());
                    break;
                default:
                    answer.put("ret", names(tracker.getAndRemoveUncheckpointedAssignment(c.get(1).asInt(), c.get(2).asLong())));
            }
            Map<Long, Object> byCheckpoint = new TreeMap<>();
            tracker.assignmentsByCheckpointId().forEach((id, assigned) -> byCheckpoint.put(id, named(assigned)));
            answer.put("by_checkpoint", byCheckpoint);
            answer.put("current", named(tracker.uncheckpointedAssignments()));
            answers.add(answer);
        }
        return JSON.writeValueAsString(answers);
    }

    private static Map<Integer, List<NumberSequenceSplit>> assignment(JsonNode node) {
        Map<Integer, List<NumberSequenceSplit>> assigned = new HashMap<>();
        node.fields().forEachRemaining(field -> {
            List<NumberSequenceSplit> splits = new ArrayList<>();
            field.getValue().forEach(name -> splits.add(new NumberSequenceSplit(name.asText(), 0, 1)));
            assigned.put(Integer.valueOf(field.getKey()), splits);
        });
        return assigned;
    }

    private static List<String> names(Collection<NumberSequenceSplit> splits) {
        return splits.stream().map(NumberSequenceSplit::splitId).collect(Collectors.toList());
    }

    private static Map<Integer, List<String>> named(Map<Integer, ? extends Collection<NumberSequenceSplit>> assigned) {
        Map<Integer, List<String>> found = new TreeMap<>();
        assigned.forEach((subtask, splits) -> found.put(subtask, names(splits)));
        return found;
    }
}
