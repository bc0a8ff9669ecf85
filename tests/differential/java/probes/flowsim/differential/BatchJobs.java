package flowsim.differential;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.SerializableTimestampAssigner;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/** A job with keyed operators of several kinds, in BATCH mode on an embedded cluster. */
public final class BatchJobs {
    private static final TypeInformation<Tuple3<String, Long, Integer>> ROW =
            TypeInformation.of(new TypeHint<Tuple3<String, Long, Integer>>() {});

    private BatchJobs() {}

    /** What the operators emit for rows {@code [key, timestamp, number]}; each output begins with its operator. */
    public static String run(String first, String second) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        env.setRuntimeMode(RuntimeExecutionMode.BATCH);
        KeyedStream<Tuple3<String, Long, Integer>, String> one = keyed(env, first);
        KeyedStream<Tuple3<String, Long, Integer>, String> two = keyed(env, second);
        DataStream<String> timers = one.process(new Timers());
        DataStream<String> sums = one.reduce(new Sum()).process(new Shown());
        DataStream<String> windows = one.window(TumblingEventTimeWindows.of(java.time.Duration.ofMillis(10))).apply(new Counts());
        DataStream<String> both = one.connect(two).process(new Both());
        List<String> found = new ArrayList<>();
        try (CloseableIterator<String> results = timers.union(sums, windows, both).executeAndCollect()) {
            results.forEachRemaining(found::add);
        }
        return Keys.JSON.writeValueAsString(found);
    }

    private static KeyedStream<Tuple3<String, Long, Integer>, String> keyed(StreamExecutionEnvironment env, String text)
            throws Exception {
        List<Tuple3<String, Long, Integer>> rows = new ArrayList<>();
        for (JsonNode row : Keys.JSON.readTree(text)) {
            rows.add(Tuple3.of(row.get(0).asText(), row.get(1).asLong(), row.get(2).asInt()));
        }
        return env.fromData(rows, ROW)
                .assignTimestampsAndWatermarks(
                        WatermarkStrategy.<Tuple3<String, Long, Integer>>forMonotonousTimestamps()
                                .withTimestampAssigner(new Timestamps()))
                .keyBy(new Name(), Types.STRING);
    }

    /** The second field. */
    public static final class Timestamps implements SerializableTimestampAssigner<Tuple3<String, Long, Integer>> {
        @Override
        public long extractTimestamp(Tuple3<String, Long, Integer> row, long before) {
            return row.f1;
        }
    }

    /** The first field. */
    public static final class Name implements KeySelector<Tuple3<String, Long, Integer>, String> {
        @Override
        public String getKey(Tuple3<String, Long, Integer> row) {
            return row.f0;
        }
    }

    /** The sum of the numbers. */
    public static final class Sum implements ReduceFunction<Tuple3<String, Long, Integer>> {
        @Override
        public Tuple3<String, Long, Integer> reduce(
                Tuple3<String, Long, Integer> one, Tuple3<String, Long, Integer> two) {
            return Tuple3.of(one.f0, one.f1, one.f2 + two.f2);
        }
    }

    /** Each sum with its timestamp. */
    public static final class Shown extends ProcessFunction<Tuple3<String, Long, Integer>, String> {
        @Override
        public void processElement(Tuple3<String, Long, Integer> row, Context context, Collector<String> out) {
            out.collect("reduce " + row.f0 + " " + row.f1 + " " + row.f2 + " " + context.timestamp());
        }
    }

    /** Each number, and each timer. */
    public static final class Timers extends KeyedProcessFunction<String, Tuple3<String, Long, Integer>, String> {
        @Override
        public void processElement(Tuple3<String, Long, Integer> row, Context context, Collector<String> out) {
            context.timerService().registerProcessingTimeTimer(row.f1);
            context.timerService().registerEventTimeTimer(row.f1 + 1);
            out.collect("timers " + row.f2 + " " + context.timerService().currentWatermark());
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
            context.timerService().registerEventTimeTimer(timestamp + 1);
            out.collect("timers " + context.getCurrentKey() + " " + context.timeDomain() + " " + timestamp);
        }
    }

    /** The size of each window. */
    public static final class Counts
            implements WindowFunction<Tuple3<String, Long, Integer>, String, String, TimeWindow> {
        @Override
        public void apply(
                String key, TimeWindow window, Iterable<Tuple3<String, Long, Integer>> rows, Collector<String> out) {
            StringBuilder numbers = new StringBuilder();
            rows.forEach(row -> numbers.append(' ').append(row.f2));
            out.collect("windows " + key + " " + window.getStart() + numbers);
        }
    }

    /** The numbers of both inputs. */
    public static final class Both
            extends KeyedCoProcessFunction<
                    String, Tuple3<String, Long, Integer>, Tuple3<String, Long, Integer>, String> {
        @Override
        public void processElement1(Tuple3<String, Long, Integer> row, Context context, Collector<String> out) {
            out.collect("both 1 " + row.f2);
        }

        @Override
        public void processElement2(Tuple3<String, Long, Integer> row, Context context, Collector<String> out) {
            out.collect("both 2 " + row.f2);
        }
    }
}
