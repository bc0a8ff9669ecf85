package flowsim.jobs.described;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.functions.FlatJoinFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.CoGroupedStreams;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.JoinedStreams;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Joins by interval, joins of windows, and co-groups. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Joins {
    private Joins() {}

    static void interval(Streams streams, JsonNode given, Map<String, DataStream<?>> outputs) {
        OutputTag<Tuple4<Integer, String, Long, long[]>> left = new OutputTag<>("left", Event.TYPE);
        OutputTag<Tuple4<Integer, String, Long, long[]>> right = new OutputTag<>("right", Event.TYPE);
        KeyedStream.IntervalJoined<Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, Object>
                join =
                        streams.keyed(0)
                                .intervalJoin(streams.keyed(1))
                                .between(
                                        DescribedJob.millis(given.get("lower_ms")),
                                        DescribedJob.millis(given.get("upper_ms")));
        if (given.get("lower_exclusive").asBoolean()) {
            join = join.lowerBoundExclusive();
        }
        if (given.get("upper_exclusive").asBoolean()) {
            join = join.upperBoundExclusive();
        }
        if (given.get("late_left").asBoolean()) {
            join = join.sideOutputLeftLateData(left);
        }
        if (given.get("late_right").asBoolean()) {
            join = join.sideOutputRightLateData(right);
        }
        SingleOutputStreamOperator<String> joined =
                join.process(new Pairs(), Types.STRING).setParallelism(DescribedJob.parallelism(given));
        outputs.put("out", DescribedJob.after(joined, given));
        if (given.get("late_left").asBoolean()) {
            outputs.put("late_left", joined.getSideOutput(left));
        }
        if (given.get("late_right").asBoolean()) {
            outputs.put("late_right", joined.getSideOutput(right));
        }
    }

    static SingleOutputStreamOperator<String> windowed(Streams streams, JsonNode given) {
        DataStream<Tuple4<Integer, String, Long, long[]>> first = streams.input(0);
        DataStream<Tuple4<Integer, String, Long, long[]>> second = streams.input(1);
        KeySelector<Tuple4<Integer, String, Long, long[]>, Object> key = Event.key(given);
        TypeInformation keyType = Event.keyType(given);
        WindowAssigner assigner = Windows.assigner(given.get("assigner"));
        if (given.get("kind").asText().equals("window_join")) {
            JoinedStreams.WithWindow joined =
                    first.join(second).where(key, keyType).equalTo(key, keyType).window(assigner);
            if (!given.get("trigger").isNull()) {
                joined = joined.trigger(Windows.trigger(given.get("trigger")));
            }
            if (!given.get("evictor").isNull()) {
                joined = joined.evictor(Windows.evictor(given.get("evictor")));
            }
            if (given.get("lateness_ms").asLong() > 0) {
                joined = joined.allowedLateness(DescribedJob.millis(given.get("lateness_ms")));
            }
            return joined.apply(new Matches(), Types.STRING);
        }
        CoGroupedStreams.WithWindow grouped =
                first.coGroup(second).where(key, keyType).equalTo(key, keyType).window(assigner);
        if (!given.get("trigger").isNull()) {
            grouped = grouped.trigger(Windows.trigger(given.get("trigger")));
        }
        if (!given.get("evictor").isNull()) {
            grouped = grouped.evictor(Windows.evictor(given.get("evictor")));
        }
        if (given.get("lateness_ms").asLong() > 0) {
            grouped = grouped.allowedLateness(DescribedJob.millis(given.get("lateness_ms")));
        }
        return grouped.apply(new Groups(), Types.STRING);
    }

    private static final class Pairs
            extends ProcessJoinFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public void processElement(
                Tuple4<Integer, String, Long, long[]> left,
                Tuple4<Integer, String, Long, long[]> right,
                Context context,
                Collector<String> out) {
            out.collect(
                    Event.text(
                            left.f0,
                            right.f0,
                            context.getLeftTimestamp(),
                            context.getRightTimestamp(),
                            context.getTimestamp()));
        }
    }

    private static final class Matches
            implements FlatJoinFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public void join(
                Tuple4<Integer, String, Long, long[]> left,
                Tuple4<Integer, String, Long, long[]> right,
                Collector<String> out) {
            out.collect(Event.text(left.f1, left.f0, right.f0));
        }
    }

    private static final class Groups
            implements CoGroupFunction<
                    Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>, String> {
        @Override
        public void coGroup(
                Iterable<Tuple4<Integer, String, Long, long[]>> left,
                Iterable<Tuple4<Integer, String, Long, long[]>> right,
                Collector<String> out) {
            out.collect(Event.text(numbers(left), numbers(right)));
        }

        private static List<Integer> numbers(Iterable<Tuple4<Integer, String, Long, long[]>> events) {
            List<Integer> numbers = new ArrayList<>();
            events.forEach(event -> numbers.add(event.f0));
            return numbers;
        }
    }
}
