import com.sun.management.OperatingSystemMXBean;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** W1 on an embedded cluster: arguments are records, runs before the measurement, measured runs, and a file for results. */
public class W1 {
    private static final Map<String, Long> RESULTS = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        long records = Long.parseLong(arguments[0]);
        int before = Integer.parseInt(arguments[1]);
        int measured = Integer.parseInt(arguments[2]);
        OperatingSystemMXBean process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int run = 0; run < before + measured; run++) {
            RESULTS.clear();
            long started = process.getProcessCpuTime();
            execute(records);
            if (run >= before) {
                System.out.println("cpu_ns " + (process.getProcessCpuTime() - started));
            }
        }
        try (PrintWriter file = new PrintWriter(arguments[3])) {
            RESULTS.forEach((window, total) -> file.println(window + " " + total));
        }
    }

    private static void execute(long records) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        env.fromSource(new NumberSequenceSource(0, records - 1), WatermarkStrategy.noWatermarks(), "w1")
                .map(new Record())
                .assignTimestampsAndWatermarks(
                        WatermarkStrategy.<Tuple3<Integer, Integer, Integer>>forMonotonousTimestamps()
                                .withTimestampAssigner((record, previous) -> record.f2))
                .map(new Doubled())
                .keyBy(new Key())
                .window(TumblingEventTimeWindows.of(java.time.Duration.ofMillis(1000)))
                .aggregate(new Sum(), new WithWindow())
                .process(new Collect())
                .sinkTo(new DiscardingSink<>());
        env.execute("W1");
    }

    public static class Record implements MapFunction<Long, Tuple3<Integer, Integer, Integer>> {
        @Override
        public Tuple3<Integer, Integer, Integer> map(Long index) {
            return Tuple3.of((int) (index * 7919 % 1000), (int) (index % 97), (int) (index / 10));
        }
    }

    public static class Doubled
            implements MapFunction<Tuple3<Integer, Integer, Integer>, Tuple3<Integer, Integer, Integer>> {
        @Override
        public Tuple3<Integer, Integer, Integer> map(Tuple3<Integer, Integer, Integer> record) {
            return Tuple3.of(record.f0, record.f1 * 2 + 1, record.f2);
        }
    }

    public static class Key implements KeySelector<Tuple3<Integer, Integer, Integer>, Integer> {
        @Override
        public Integer getKey(Tuple3<Integer, Integer, Integer> record) {
            return record.f0;
        }
    }

    public static class Sum implements AggregateFunction<Tuple3<Integer, Integer, Integer>, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Tuple3<Integer, Integer, Integer> record, Long sum) {
            return sum + record.f1;
        }

        @Override
        public Long getResult(Long sum) {
            return sum;
        }

        @Override
        public Long merge(Long first, Long second) {
            return first + second;
        }
    }

    public static class WithWindow
            extends ProcessWindowFunction<Long, Tuple3<Integer, Long, Long>, Integer, TimeWindow> {
        @Override
        public void process(
                Integer key, Context context, Iterable<Long> sums, Collector<Tuple3<Integer, Long, Long>> out) {
            out.collect(Tuple3.of(key, context.window().getStart(), sums.iterator().next()));
        }
    }

    public static class Collect extends ProcessFunction<Tuple3<Integer, Long, Long>, Void> {
        @Override
        public void processElement(Tuple3<Integer, Long, Long> result, Context context, Collector<Void> out) {
            RESULTS.put(result.f0 + " " + result.f1, result.f2);
        }
    }
}
