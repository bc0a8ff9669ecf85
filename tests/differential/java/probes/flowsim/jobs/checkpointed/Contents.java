package flowsim.jobs.checkpointed;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** Emits the sum and the numbers of a window. */
final class Contents<W extends Window>
        extends ProcessWindowFunction<Tuple4<Integer, String, Long, long[]>, String, Object, W> {
    @Override
    public void process(
            Object key,
            Context context,
            Iterable<Tuple4<Integer, String, Long, long[]>> elements,
            Collector<String> out) {
        long sum = 0;
        List<Integer> numbers = new ArrayList<>();
        for (Tuple4<Integer, String, Long, long[]> event : elements) {
            sum += event.f2;
            numbers.add(event.f0);
        }
        Collections.sort(numbers);
        if (context.window() instanceof TimeWindow) {
            TimeWindow window = (TimeWindow) context.window();
            out.collect(Board.text("win", key, window.getStart(), window.getEnd(), sum, numbers));
        } else {
            out.collect(Board.text("win", key, sum, numbers));
        }
    }
}
