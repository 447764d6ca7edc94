//! How messages are read and written: as prost does, which is quicker where it reads from one piece of memory.

use prost::Message;
use prost::bytes::Buf;
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

/// Writes one kind of message and reads another.
#[derive(Debug)]
pub(crate) struct WholeCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for WholeCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for WholeCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = WholeDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        WholeDecoder(PhantomData)
    }
}

/// Reads a message that is there in full.
#[derive(Debug)]
pub(crate) struct WholeDecoder<U>(PhantomData<U>);

impl<U: Message + Default> Decoder for WholeDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let length = buffer.remaining();
        let read = match buffer.chunk() {
            whole if whole.len() == length => U::decode(whole).inspect(|_| buffer.advance(length)),
            _ => U::decode(&mut *buffer),
        };
        read.map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
