package flowsim.jobs.described;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Does to five states of the key what is ordered, then tells what is in them, all keys of the map in order. */
final class States extends KeyedProcessFunction<Object, Tuple4<Integer, String, Long, long[]>, String> {
    private transient ValueState<Long> total;
    private transient ListState<Long> numbers;
    private transient MapState<Long, Long> latest;
    private transient ReducingState<Long> highest;
    private transient AggregatingState<Long, String> mean;

    @Override
    public void open(OpenContext context) {
        total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Types.LONG));
        numbers = getRuntimeContext().getListState(new ListStateDescriptor<>("numbers", Types.LONG));
        latest = getRuntimeContext().getMapState(new MapStateDescriptor<>("latest", Types.LONG, Types.LONG));
        highest = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("highest", Math::max, Types.LONG));
        mean =
                getRuntimeContext()
                        .getAggregatingState(
                                new AggregatingStateDescriptor<>("mean", new Mean(), Types.LIST(Types.LONG)));
    }

    @Override
    public void processElement(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out)
            throws Exception {
        long number = event.f0;
        long value = event.f2;
        for (long order : event.f3) {
            switch ((int) order) {
                case 1:
                    total.update((total.value() == null ? 0 : total.value()) + value);
                    break;
                case 2:
                    numbers.add(number);
                    break;
                case 3:
                    latest.put(Math.floorMod(value, 4L), number);
                    break;
                case 4:
                    highest.add(value);
                    break;
                case 5:
                    mean.add(value);
                    break;
                case 6:
                    total.clear();
                    break;
                case 7:
                    numbers.update(Collections.singletonList(number));
                    break;
                case 8:
                    latest.remove(Math.floorMod(value, 4L));
                    break;
                case 9:
                    highest.clear();
                    mean.clear();
                    break;
                case 10:
                    latest.clear();
                    numbers.clear();
                    break;
                default:
                    numbers.addAll(List.of(number, value));
            }
        }
        List<Long> listed = new ArrayList<>();
        numbers.get().forEach(listed::add);
        List<List<Long>> entries = new ArrayList<>();
        latest.entries().forEach(entry -> entries.add(List.of(entry.getKey(), entry.getValue())));
        entries.sort((a, b) -> Long.compare(a.get(0), b.get(0)));
        out.collect(Event.text(number, total.value(), listed, entries, latest.isEmpty(), highest.get(), mean.get()));
    }

    private static final class Mean implements AggregateFunction<Long, List<Long>, String> {
        @Override
        public List<Long> createAccumulator() {
            return new ArrayList<>(List.of(0L, 0L));
        }

        @Override
        public List<Long> add(Long value, List<Long> sumAndCount) {
            return new ArrayList<>(List.of(sumAndCount.get(0) + value, sumAndCount.get(1) + 1));
        }

        @Override
        public String getResult(List<Long> sumAndCount) {
            return sumAndCount.get(0) + "/" + sumAndCount.get(1);
        }

        @Override
        public List<Long> merge(List<Long> a, List<Long> b) {
            return new ArrayList<>(List.of(a.get(0) + b.get(0), a.get(1) + b.get(1)));
        }
    }
}
