package flowsim.jobs.described;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.TimeDomain;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * Sets timers as ordered: pairs of 1 (register event time), 2 (delete event time), 3 (register processing time) or 4 (delete
 * processing time) and a timestamp. A timer at a multiple of 5 sets another one 4 ms later.
 */
final class Timers extends KeyedProcessFunction<Object, Tuple4<Integer, String, Long, long[]>, String> {
    /** Records and timers of even numbers go there, too. */
    static final OutputTag<String> SIDE = new OutputTag<>("side", Types.STRING);

    static void obey(long[] orders, TimerService timers) {
        for (int i = 0; i + 1 < orders.length; i += 2) {
            switch ((int) orders[i]) {
                case 1:
                    timers.registerEventTimeTimer(orders[i + 1]);
                    break;
                case 2:
                    timers.deleteEventTimeTimer(orders[i + 1]);
                    break;
                case 3:
                    timers.registerProcessingTimeTimer(orders[i + 1]);
                    break;
                default:
                    timers.deleteProcessingTimeTimer(orders[i + 1]);
            }
        }
    }

    /** What a firing of {@code timestamp} registers. */
    static void followUp(long timestamp, TimeDomain domain, TimerService timers) {
        if (timestamp % 5 == 0) {
            if (domain == TimeDomain.EVENT_TIME) {
                timers.registerEventTimeTimer(timestamp + 4);
            } else {
                timers.registerProcessingTimeTimer(timestamp + 4);
            }
        }
    }

    @Override
    public void processElement(Tuple4<Integer, String, Long, long[]> event, Context context, Collector<String> out) {
        obey(event.f3, context.timerService());
        if (event.f0 % 2 == 0) {
            context.output(SIDE, Event.text(event.f0));
        }
        long now = context.timerService().currentWatermark();
        out.collect(Event.text("elem", event.f0, context.getCurrentKey(), context.timestamp(), now));
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
        TimerService timers = context.timerService();
        if (timestamp % 2 == 0) {
            context.output(SIDE, Event.text("timer", timestamp));
        }
        out.collect(
                Event.text(
                        "timer",
                        context.getCurrentKey(),
                        timestamp,
                        context.timeDomain().name(),
                        context.timestamp(),
                        timers.currentWatermark()));
        followUp(timestamp, context.timeDomain(), timers);
    }
}
