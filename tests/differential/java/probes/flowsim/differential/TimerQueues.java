package flowsim.differential;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.flink.runtime.state.KeyExtractorFunction;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.PriorityComparator;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSet;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;

/** A real queue of timers, and a real hash map, that run a whole script. */
public final class TimerQueues {
    private TimerQueues() {}

    /** The first line is capacity, first and last key group, and number of key groups; then one answer per command. */
    public static String run(String script) {
        String[] lines = script.split("\n");
        String[] header = lines[0].split(" ");
        KeyGroupRange range = new KeyGroupRange(Integer.parseInt(header[1]), Integer.parseInt(header[2]));
        HeapPriorityQueueSet<TimerHeapInternalTimer<Object, VoidNamespace>> queue = new HeapPriorityQueueSet<>(
                PriorityComparator.forPriorityComparableObjects(), KeyExtractorFunction.forKeyedObjects(),
                Integer.parseInt(header[0]), range, Integer.parseInt(header[3]));
        StringJoiner answers = new StringJoiner("\n");
        for (int i = 1; i < lines.length; i++) {
            answers.add(execute(queue, lines[i].split(" ")) + " " + queue.size());
        }
        return answers.toString();
    }

    private static String execute(
            HeapPriorityQueueSet<TimerHeapInternalTimer<Object, VoidNamespace>> queue, String[] command) {
        switch (command[0]) {
            case "add": return "" + queue.add(timer(command));
            case "remove": return "" + queue.remove(timer(command));
            case "poll": return text(queue.poll());
            case "peek": return text(queue.peek());
            default:
                Set<TimerHeapInternalTimer<Object, VoidNamespace>> subset = queue.getSubsetForKeyGroup(Integer.parseInt(command[1]));
                StringJoiner all = new StringJoiner(";");
                subset.forEach(timer -> all.add(text(timer)));
                return "[" + all + "]";
        }
    }

    private static TimerHeapInternalTimer<Object, VoidNamespace> timer(String[] command) {
        return new TimerHeapInternalTimer<>(Long.parseLong(command[2]), command[1], VoidNamespace.INSTANCE);
    }

    private static String text(TimerHeapInternalTimer<Object, VoidNamespace> timer) {
        return timer == null ? "-" : timer.getKey() + "," + timer.getTimestamp();
    }

    /** Puts ("+key") and removes ("-key") keys of one kind, and tells the keys of the map after each. */
    public static String hashMap(String kind, String script) {
        Map<Object, Boolean> map = new HashMap<>();
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            Object key = "long".equals(kind) ? (Object) Long.valueOf(line.substring(1)) : line.substring(1);
            if (line.charAt(0) == '+') {
                map.put(key, true);
            } else {
                map.remove(key);
            }
            StringJoiner keys = new StringJoiner(",");
            map.keySet().forEach(one -> keys.add(one.toString()));
            answers.add(keys.toString());
        }
        return answers.toString();
    }
}
