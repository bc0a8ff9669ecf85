package flowsim.jobs;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;

/** What happened in the job that runs, per task (or whatever a job takes for a name) in the order of its thread. */
public final class Log {
    private static final ConcurrentSkipListMap<String, List<String>> EVENTS = new ConcurrentSkipListMap<>();

    private Log() {}

    public static void add(String task, Object... words) {
        StringBuilder event = new StringBuilder();
        for (Object word : words) {
            event.append(event.length() == 0 ? "" : " ").append(word);
        }
        EVENTS.computeIfAbsent(task, ignored -> Collections.synchronizedList(new ArrayList<>())).add(event.toString());
    }

    static void clear() {
        EVENTS.clear();
    }

    /** How many events each place has. */
    public static TreeMap<String, Integer> sizes() {
        TreeMap<String, Integer> sizes = new TreeMap<>();
        EVENTS.forEach((place, events) -> sizes.put(place, events.size()));
        return sizes;
    }

    static TreeMap<String, List<String>> all() {
        return new TreeMap<>(EVENTS);
    }
}
