package flowsim.jobs.described;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;

/** Operators of described jobs for jobs of other packages, by the kind that a description gives them. */
public final class Operators {
    public static final TypeInformation<Tuple4<Integer, String, Long, long[]>> RECORD = Event.TYPE;

    private Operators() {}

    /** {@code second}: the other input of an operator that has two. */
    public static SingleOutputStreamOperator<String> of(
            String kind,
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed,
            DataStream<Tuple4<Integer, String, Long, long[]>> second) {
        switch (kind) {
            case "state":
                return keyed.process(new States(), Types.STRING);
            case "timers":
                return keyed.process(new Timers(), Types.STRING);
            case "keyed_broadcast":
                return Connections.keyedBroadcast(keyed, second);
            case "keyed_co_process":
                return Connections.keyedBoth(
                        keyed, second.keyBy(event -> (Object) event.f1, keyed.getKeyType()));
            default:
                throw new IllegalArgumentException("unknown kind " + kind);
        }
    }
}
