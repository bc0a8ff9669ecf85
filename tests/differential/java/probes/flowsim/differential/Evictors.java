package flowsim.differential;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.evictors.DeltaEvictor;
import org.apache.flink.streaming.api.windowing.evictors.Evictor;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.runtime.operators.windowing.TimestampedValue;

/** Real evictors on lists of numbers. */
public final class Evictors {
    private static final Evictor.EvictorContext CONTEXT =
            new Evictor.EvictorContext() {
                @Override
                public long getCurrentProcessingTime() {
                    return 0;
                }

                @Override
                public MetricGroup getMetricGroup() {
                    return null;
                }

                @Override
                public long getCurrentWatermark() {
                    return 0;
                }
            };

    private Evictors() {}

    /**
     * @param script a line per list: the evictor, its number, whether it evicts after, the door, and the elements as
     *     {@code value@timestamp}, or {@code value} where it has none
     * @return a line per list: the values that stay, or {@code !Class} of what was thrown
     */
    public static String run(String script) {
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            answers.add(evict(line.split(" ")));
        }
        return answers.toString();
    }

    private static String evict(String[] words) {
        List<TimestampedValue<Object>> elements = new ArrayList<>();
        for (int i = 4; i < words.length; i++) {
            String[] parts = words[i].split("@");
            Long value = Long.valueOf(parts[0]);
            elements.add(
                    parts.length > 1
                            ? new TimestampedValue<>(value, Long.parseLong(parts[1]))
                            : new TimestampedValue<>(value));
        }
        Evictor<Object, GlobalWindow> evictor = make(words[0], words[1], Boolean.parseBoolean(words[2]));
        try {
            if (words[3].equals("before")) {
                evictor.evictBefore(elements, elements.size(), GlobalWindow.get(), CONTEXT);
            } else {
                evictor.evictAfter(elements, elements.size(), GlobalWindow.get(), CONTEXT);
            }
        } catch (RuntimeException e) {
            return "!" + e.getClass().getSimpleName();
        }
        StringJoiner values = new StringJoiner(" ");
        for (TimestampedValue<Object> element : elements) {
            values.add("" + element.getValue());
        }
        return values.toString();
    }

    private static Evictor<Object, GlobalWindow> make(String kind, String number, boolean after) {
        switch (kind) {
            case "count":
                return CountEvictor.of(Long.parseLong(number), after);
            case "time":
                return TimeEvictor.of(Duration.ofMillis(Long.parseLong(number)), after);
            default:
                return DeltaEvictor.of(
                        Double.parseDouble(number), (one, other) -> (double) ((Long) other - (Long) one), after);
        }
    }
}
