package flowsim.differential;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.types.Row;
import org.apache.flink.util.MathUtils;

/** Keys of every class, made of JSON such as {@code ["TUPLE", ["INT", 5], ["STRING", "a"]]}, and what becomes of them. */
public final class Keys {
    static final ObjectMapper JSON = new ObjectMapper();

    private Keys() {}

    static Object of(JsonNode node) {
        JsonNode value = node.get(1);
        switch (node.get(0).asText()) {
            case "NULL":
                return null;
            case "STRING":
                return value.asText();
            case "BYTE":
                return (byte) value.asInt();
            case "SHORT":
                return (short) value.asInt();
            case "INT":
                return value.asInt();
            case "LONG":
                return value.asLong();
            case "BOOLEAN":
                return value.asBoolean();
            case "CHAR":
                return value.asText().charAt(0);
            case "FLOAT":
                return Float.intBitsToFloat(value.asInt());
            case "DOUBLE":
                return Double.longBitsToDouble(value.asLong());
            case "LIST":
                return rest(node);
            case "ROW":
                return Row.of(rest(node).toArray());
            case "MAP":
                Map<Object, Object> map = new LinkedHashMap<>();
                List<Object> entries = rest(node);
                for (int i = 0; i < entries.size(); i += 2) {
                    map.put(entries.get(i), entries.get(i + 1));
                }
                return map;
            case "TUPLE":
                List<Object> fields = rest(node);
                Tuple tuple = Tuple.newInstance(fields.size());
                for (int i = 0; i < fields.size(); i++) {
                    tuple.setField(fields.get(i), i);
                }
                return tuple;
            default:
                throw new IllegalArgumentException(node.toString());
        }
    }

    private static List<Object> rest(JsonNode node) {
        List<Object> values = new ArrayList<>();
        for (int i = 1; i < node.size(); i++) {
            values.add(of(node.get(i)));
        }
        return values;
    }

    /** Of each key its hash code, key group and subtask. */
    public static String assign(String keys, int maxParallelism, int parallelism) throws Exception {
        List<int[]> answers = new ArrayList<>();
        for (JsonNode node : JSON.readTree(keys)) {
            Object key = of(node);
            answers.add(
                    new int[] {
                        key.hashCode(),
                        KeyGroupRangeAssignment.assignToKeyGroup(key, maxParallelism),
                        KeyGroupRangeAssignment.assignKeyToParallelOperator(key, maxParallelism, parallelism)
                    });
        }
        return JSON.writeValueAsString(answers);
    }

    /** Of each hash code its scrambled form and key group. */
    public static String scramble(String hashes, int maxParallelism) throws Exception {
        List<int[]> answers = new ArrayList<>();
        for (JsonNode hash : JSON.readTree(hashes)) {
            answers.add(
                    new int[] {
                        MathUtils.murmurHash(hash.asInt()),
                        KeyGroupRangeAssignment.computeKeyGroupForKeyHash(hash.asInt(), maxParallelism)
                    });
        }
        return JSON.writeValueAsString(answers);
    }

    /** First and last key group of each subtask, then the owner of each key group, then the default max parallelism. */
    public static String ranges(int maxParallelism, int parallelism) throws Exception {
        List<int[]> ranges = new ArrayList<>();
        for (int i = 0; i < parallelism; i++) {
            KeyGroupRange range =
                    KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(maxParallelism, parallelism, i);
            ranges.add(new int[] {range.getStartKeyGroup(), range.getEndKeyGroup(), range.getNumberOfKeyGroups()});
        }
        int[] owners = new int[maxParallelism];
        for (int group = 0; group < maxParallelism; group++) {
            owners[group] =
                    KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup(maxParallelism, parallelism, group);
        }
        int derived = KeyGroupRangeAssignment.computeDefaultMaxParallelism(parallelism);
        return JSON.writeValueAsString(new Object[] {ranges, owners, derived});
    }

    /** Whether each key group from -1 on belongs to the range. */
    public static String contains(int start, int end, int upTo) throws Exception {
        KeyGroupRange range = new KeyGroupRange(start, end);
        boolean[] answers = new boolean[upTo + 1];
        for (int group = -1; group < upTo; group++) {
            answers[group + 1] = range.contains(group);
        }
        return JSON.writeValueAsString(answers);
    }
}
