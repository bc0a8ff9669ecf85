package flowsim.jobs.checkpointed;

import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple4;

/** The key of a record. An operator asks for it when it receives the record, which counts as its arrival. */
final class Keys implements KeySelector<Tuple4<Integer, String, Long, long[]>, Object> {
    @Override
    public Object getKey(Tuple4<Integer, String, Long, long[]> event) {
        if (!ScriptedSource.isRunning()) {
            Board.ARRIVED.incrementAndGet();
        }
        return event.f1;
    }
}
